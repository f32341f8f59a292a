package dev.verbena.sockets;

import static dev.verbena.testing.Environment.SOFT;
import static dev.verbena.testing.Environment.TRIXIE;
import static dev.verbena.testing.Need.CM;
import static dev.verbena.testing.Need.PEERS;
import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.verbena.testing.DeviceTest;
import dev.verbena.testing.Needs;
import dev.verbena.testing.Once;
import dev.verbena.testing.Program;
import dev.verbena.testing.Rig;
import io.netty.bootstrap.Bootstrap;
import io.netty.bootstrap.ServerBootstrap;
import io.netty.buffer.ByteBuf;
import io.netty.buffer.Unpooled;
import io.netty.channel.Channel;
import io.netty.channel.ChannelFutureListener;
import io.netty.channel.ChannelHandler;
import io.netty.channel.ChannelHandlerContext;
import io.netty.channel.ChannelInboundHandlerAdapter;
import io.netty.channel.ChannelInitializer;
import io.netty.channel.ChannelOption;
import io.netty.channel.DefaultFileRegion;
import io.netty.channel.EventLoopGroup;
import io.netty.channel.MultiThreadIoEventLoopGroup;
import io.netty.channel.SimpleChannelInboundHandler;
import io.netty.channel.group.ChannelGroup;
import io.netty.channel.group.DefaultChannelGroup;
import io.netty.channel.nio.NioIoHandler;
import io.netty.channel.socket.nio.NioServerSocketChannel;
import io.netty.channel.socket.nio.NioSocketChannel;
import io.netty.handler.codec.http.DefaultFullHttpRequest;
import io.netty.handler.codec.http.DefaultHttpResponse;
import io.netty.handler.codec.http.HttpClientCodec;
import io.netty.handler.codec.http.HttpContent;
import io.netty.handler.codec.http.HttpHeaderNames;
import io.netty.handler.codec.http.HttpMethod;
import io.netty.handler.codec.http.HttpObject;
import io.netty.handler.codec.http.HttpRequest;
import io.netty.handler.codec.http.HttpResponse;
import io.netty.handler.codec.http.HttpResponseStatus;
import io.netty.handler.codec.http.HttpServerCodec;
import io.netty.handler.codec.http.HttpUtil;
import io.netty.handler.codec.http.HttpVersion;
import io.netty.handler.codec.http.LastHttpContent;
import io.netty.handler.ssl.SslContext;
import io.netty.handler.ssl.SslContextBuilder;
import io.netty.handler.ssl.SslHandler;
import io.netty.handler.timeout.IdleStateEvent;
import io.netty.handler.timeout.IdleStateHandler;
import io.netty.util.concurrent.GlobalEventExecutor;
import java.io.File;
import java.io.InputStream;
import java.io.OutputStream;
import java.net.InetSocketAddress;
import java.nio.file.Files;
import java.nio.file.Path;
import java.security.KeyStore;
import java.util.ArrayList;
import java.util.List;
import java.util.Random;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import java.util.zip.CRC32;
import javax.net.ssl.KeyManagerFactory;
import javax.net.ssl.TrustManagerFactory;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.io.TempDir;

/** Netty 4.2 over RDMA: its {@code NioIoHandler} with {@link RdmaSelectorProvider}. */
@Needs(CM)
@Once(
    value = SOFT,
    reason =
        "Netty over RdmaSelectorProvider, whose calls RdmaChannelsTest and LostNetworkTest make")
class NettyTest {
  private static final RdmaSelectorProvider RDMA = RdmaSelectorProvider.provider();

  /** The size of the file that is downloaded; 64 by hand, which emulation makes slow. */
  private static final int FILE_MEBIBYTES = Integer.getInteger("verbena.sockets.mebibytes", 8);

  private static final char[] PASSWORD = "password".toCharArray();

  private EventLoopGroup loops;
  private ChannelGroup accepted;

  @BeforeEach
  void start() {
    loops = new MultiThreadIoEventLoopGroup(2, NioIoHandler.newFactory(RDMA));
    accepted = new DefaultChannelGroup(GlobalEventExecutor.INSTANCE);
  }

  @AfterEach
  void end() {
    if (loops != null) {
      loops.shutdownGracefully(0, 0, TimeUnit.SECONDS).syncUninterruptibly();
    }
  }

  /** The handlers of a new channel. */
  private interface Handlers {
    ChannelHandler[] of(Channel channel) throws Exception;
  }

  private static ChannelInitializer<Channel> initializer(Handlers handlers) {
    return new ChannelInitializer<>() {
      @Override
      protected void initChannel(Channel channel) throws Exception {
        channel.pipeline().addLast(handlers.of(channel));
      }
    };
  }

  private InetSocketAddress serve(Handlers handlers) {
    Channel listener =
        new ServerBootstrap()
            .group(loops)
            .channelFactory(() -> new NioServerSocketChannel(RDMA))
            .childHandler(
                initializer(
                    channel -> {
                      accepted.add(channel);
                      return handlers.of(channel);
                    }))
            .bind(new InetSocketAddress(Rig.addressB(), 0))
            .syncUninterruptibly()
            .channel();
    return (InetSocketAddress) listener.localAddress();
  }

  private Channel connect(InetSocketAddress server, Handlers handlers) {
    return new Bootstrap()
        .group(loops)
        .channelFactory(() -> new NioSocketChannel(RDMA))
        .option(ChannelOption.CONNECT_TIMEOUT_MILLIS, 0) // No limit.
        .handler(initializer(handlers))
        .connect(server, new InetSocketAddress(Rig.addressA(), 0))
        .syncUninterruptibly()
        .channel();
  }

  /** Sends back what it receives. */
  private static final class Echo extends ChannelInboundHandlerAdapter {
    @Override
    public void channelRead(ChannelHandlerContext context, Object message) {
      var _ = context.writeAndFlush(message);
    }
  }

  /** Collects as many bytes as it expects. */
  private static final class Collector extends SimpleChannelInboundHandler<ByteBuf> {
    final CompletableFuture<byte[]> all = new CompletableFuture<>();
    private final ByteBuf received;

    Collector(int expected) {
      received = Unpooled.buffer(expected, expected);
    }

    @Override
    protected void channelRead0(ChannelHandlerContext context, ByteBuf bytes) {
      received.writeBytes(bytes);
      if (!received.isWritable()) {
        all.complete(received.array());
      }
    }

    @Override
    public void channelInactive(ChannelHandlerContext context) {
      all.completeExceptionally(new AssertionError("the connection ended"));
    }

    @Override
    public void exceptionCaught(ChannelHandlerContext context, Throwable cause) {
      all.completeExceptionally(cause);
    }
  }

  private static byte[] random(int size) {
    byte[] bytes = new byte[size];
    new Random(size).nextBytes(bytes);
    return bytes;
  }

  @DeviceTest
  void hundredConnectionsEcho() {
    InetSocketAddress server = serve(channel -> new ChannelHandler[] {new Echo()});
    List<Collector> collectors = new ArrayList<>();
    List<Channel> clients = new ArrayList<>();
    for (int i = 0; i < 100; i++) {
      Collector collector = new Collector(10_000 + i);
      collectors.add(collector);
      clients.add(connect(server, channel -> new ChannelHandler[] {collector}));
    }
    for (int i = 0; i < 100; i++) {
      var _ = clients.get(i).writeAndFlush(Unpooled.wrappedBuffer(random(10_000 + i)));
    }
    for (int i = 0; i < 100; i++) {
      assertArrayEquals(random(10_000 + i), collectors.get(i).all.join());
    }
    for (Channel client : clients) {
      var _ = client.close();
    }
    accepted.newCloseFuture().syncUninterruptibly();
  }

  @DeviceTest
  void idleConnectionIsClosed() {
    InetSocketAddress server =
        serve(
            channel ->
                new ChannelHandler[] {
                  new IdleStateHandler(0, 0, 500, TimeUnit.MILLISECONDS),
                  new ChannelInboundHandlerAdapter() {
                    @Override
                    public void userEventTriggered(ChannelHandlerContext context, Object event) {
                      assertTrue(event instanceof IdleStateEvent, event::toString);
                      var _ = context.close();
                    }
                  }
                });
    Channel client = connect(server, channel -> new ChannelHandler[0]);
    client.closeFuture().syncUninterruptibly();
    accepted.newCloseFuture().syncUninterruptibly();
  }

  @DeviceTest
  @Needs(PEERS)
  @Once(value = TRIXIE, reason = "the same, with a client in another process")
  void killedClientClosesItsChannel() throws Exception {
    CompletableFuture<Integer> firstBytes = new CompletableFuture<>();
    CompletableFuture<Void> ended = new CompletableFuture<>();
    InetSocketAddress server =
        serve(
            channel ->
                new ChannelHandler[] {
                  new SimpleChannelInboundHandler<ByteBuf>() {
                    @Override
                    protected void channelRead0(ChannelHandlerContext context, ByteBuf bytes) {
                      firstBytes.complete(bytes.readableBytes());
                    }

                    @Override
                    public void channelInactive(ChannelHandlerContext context) {
                      ended.complete(null);
                    }

                    @Override
                    public void exceptionCaught(ChannelHandlerContext context, Throwable cause) {
                      var _ = context.close(); // A reset by the peer.
                    }
                  }
                });
    String[] rstream = {
      "rstream", "-s", server.getHostString(), "-p", String.valueOf(server.getPort())
    };
    List<String> from = List.of("-b", Rig.addressA().getHostAddress());
    try (Program client =
        Program.start(Program.with(List.of(rstream), from.toArray(String[]::new)))) {
      assertTrue(firstBytes.join() > 0);
      client.kill();
      ended.join();
    }
  }

  /** Answers each request with a file. */
  private static final class FileServer extends SimpleChannelInboundHandler<HttpRequest> {
    private final File file;

    FileServer(File file) {
      this.file = file;
    }

    @Override
    protected void channelRead0(ChannelHandlerContext context, HttpRequest request) {
      HttpResponse response = new DefaultHttpResponse(HttpVersion.HTTP_1_1, HttpResponseStatus.OK);
      HttpUtil.setContentLength(response, file.length());
      var _ = context.write(response);
      var _ = context.write(new DefaultFileRegion(file, 0, file.length()));
      context
          .writeAndFlush(LastHttpContent.EMPTY_LAST_CONTENT)
          .addListener(ChannelFutureListener.CLOSE);
    }
  }

  /** The checksum and the size of the body of a response. */
  private static final class Checksum extends SimpleChannelInboundHandler<HttpObject> {
    final CompletableFuture<Long> crc = new CompletableFuture<>();
    private final CRC32 checksum = new CRC32();
    private long size;
    private long expected;

    @Override
    protected void channelRead0(ChannelHandlerContext context, HttpObject part) {
      if (part instanceof HttpResponse response) {
        expected = HttpUtil.getContentLength(response);
      }
      if (part instanceof HttpContent content) {
        size += content.content().readableBytes();
        checksum.update(content.content().nioBuffer());
      }
      if (part instanceof LastHttpContent) {
        assertEquals(expected, size);
        crc.complete(checksum.getValue());
      }
    }

    @Override
    public void channelInactive(ChannelHandlerContext context) {
      crc.completeExceptionally(new AssertionError("ended after " + size));
    }

    @Override
    public void exceptionCaught(ChannelHandlerContext context, Throwable cause) {
      crc.completeExceptionally(cause);
    }
  }

  private static long write(Path file) throws Exception {
    byte[] bytes = random(1 << 20);
    CRC32 checksum = new CRC32();
    try (OutputStream out = Files.newOutputStream(file)) {
      for (int i = 0; i < FILE_MEBIBYTES; i++) {
        bytes[0] = (byte) i;
        checksum.update(bytes);
        out.write(bytes);
      }
    }
    return checksum.getValue();
  }

  @DeviceTest
  void fileIsDownloaded(@TempDir Path folder) throws Exception {
    Path file = folder.resolve("file");
    long crc = write(file);
    InetSocketAddress server =
        serve(
            channel -> new ChannelHandler[] {new HttpServerCodec(), new FileServer(file.toFile())});
    Checksum checksum = new Checksum();
    Channel client =
        connect(server, channel -> new ChannelHandler[] {new HttpClientCodec(), checksum});
    HttpRequest request = new DefaultFullHttpRequest(HttpVersion.HTTP_1_1, HttpMethod.GET, "/file");
    request.headers().set(HttpHeaderNames.HOST, server.getHostString());
    client.writeAndFlush(request).syncUninterruptibly();
    assertEquals(crc, checksum.crc.join());
    client.closeFuture().syncUninterruptibly();
  }

  /** A key and a certificate of it for an address, made by keytool of the JDK. */
  private static KeyStore keyStore(Path file, InetSocketAddress server) throws Exception {
    String keytool = Path.of(System.getProperty("java.home"), "bin", "keytool").toString();
    List<String> command =
        List.of(
            keytool,
            "-J-XX:TieredStopAtLevel=1", // Replaces no code: see src/lab/README.md.
            "-genkeypair",
            "-alias",
            "server",
            "-keyalg",
            "EC",
            "-dname",
            "CN=server",
            "-ext",
            "san=ip:" + server.getAddress().getHostAddress(),
            "-storetype",
            "PKCS12",
            "-storepass",
            String.valueOf(PASSWORD),
            "-keystore",
            file.toString());
    try (Program program = Program.start(new ProcessBuilder(command))) {
      program.endsWell();
    }
    KeyStore store = KeyStore.getInstance("PKCS12");
    try (InputStream in = Files.newInputStream(file)) {
      store.load(in, PASSWORD);
    }
    return store;
  }

  /** A handler without Netty's limits for the handshake (10 s) and for the end (3 s). */
  private static SslHandler withoutLimits(SslHandler handler) {
    handler.setHandshakeTimeoutMillis(0);
    handler.setCloseNotifyFlushTimeoutMillis(0);
    return handler;
  }

  @DeviceTest
  void tlsEchoes(@TempDir Path folder) throws Exception {
    InetSocketAddress any = new InetSocketAddress(Rig.addressB(), 0);
    KeyStore store = keyStore(folder.resolve("store"), any);
    KeyManagerFactory keys = KeyManagerFactory.getInstance("PKIX");
    keys.init(store, PASSWORD);
    TrustManagerFactory trusted = TrustManagerFactory.getInstance("PKIX");
    KeyStore certificates = KeyStore.getInstance("PKCS12");
    certificates.load(null, null);
    certificates.setCertificateEntry("server", store.getCertificate("server"));
    trusted.init(certificates);
    SslContext ofServer = SslContextBuilder.forServer(keys).build();
    SslContext ofClient = SslContextBuilder.forClient().trustManager(trusted).build();
    InetSocketAddress server =
        serve(
            channel ->
                new ChannelHandler[] {
                  withoutLimits(ofServer.newHandler(channel.alloc())), new Echo()
                });
    byte[] sent = random(1_000_000);
    Collector collector = new Collector(sent.length);
    String host = server.getAddress().getHostAddress();
    Channel client =
        connect(
            server,
            channel ->
                new ChannelHandler[] {
                  withoutLimits(ofClient.newHandler(channel.alloc(), host, server.getPort())),
                  collector
                });
    var _ = client.writeAndFlush(Unpooled.wrappedBuffer(sent));
    assertArrayEquals(sent, collector.all.join());
    var _ = client.close();
    accepted.newCloseFuture().syncUninterruptibly();
  }
}
