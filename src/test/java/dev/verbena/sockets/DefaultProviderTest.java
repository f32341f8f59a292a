package dev.verbena.sockets;

import static dev.verbena.testing.Environment.SOFT;
import static dev.verbena.testing.Need.CM;
import static dev.verbena.testing.Need.JVMS;
import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertInstanceOf;
import static org.junit.jupiter.api.Assertions.assertNotNull;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.sun.net.httpserver.HttpServer;
import dev.verbena.testing.Await;
import dev.verbena.testing.DeviceTest;
import dev.verbena.testing.LoggedMessages;
import dev.verbena.testing.Needs;
import dev.verbena.testing.Once;
import dev.verbena.testing.Program;
import dev.verbena.testing.Rig;
import io.netty.bootstrap.ServerBootstrap;
import io.netty.buffer.Unpooled;
import io.netty.channel.Channel;
import io.netty.channel.ChannelHandler;
import io.netty.channel.ChannelHandlerContext;
import io.netty.channel.ChannelInitializer;
import io.netty.channel.MultiThreadIoEventLoopGroup;
import io.netty.channel.SimpleChannelInboundHandler;
import io.netty.channel.nio.NioIoHandler;
import io.netty.channel.socket.nio.NioServerSocketChannel;
import io.netty.handler.codec.http.HttpServerCodec;
import io.netty.handler.codec.http.HttpServerUpgradeHandler;
import io.netty.handler.codec.http2.DefaultHttp2DataFrame;
import io.netty.handler.codec.http2.DefaultHttp2Headers;
import io.netty.handler.codec.http2.DefaultHttp2HeadersFrame;
import io.netty.handler.codec.http2.Http2FrameCodecBuilder;
import io.netty.handler.codec.http2.Http2HeadersFrame;
import io.netty.handler.codec.http2.Http2MultiplexHandler;
import io.netty.handler.codec.http2.Http2ServerUpgradeCodec;
import java.io.File;
import java.io.OutputStream;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.nio.ByteBuffer;
import java.nio.channels.DatagramChannel;
import java.nio.channels.Pipe;
import java.nio.channels.SelectionKey;
import java.nio.channels.Selector;
import java.nio.channels.ServerSocketChannel;
import java.nio.channels.SocketChannel;
import java.nio.channels.spi.SelectorProvider;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Objects;
import java.util.Random;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.Executors;
import java.util.logging.Level;

/** The provider for a whole JVM as the default one. */
@Needs({CM, JVMS})
@Once(
    value = SOFT,
    reason = "the channels of RdmaChannelsTest in a JVM of its own, beside channels of the JDK")
class DefaultProviderTest {
  private static final String EXPORTS = "--add-exports=java.base/sun.nio.ch=ALL-UNNAMED";

  private static Program start(Class<?> main, String... options) throws Exception {
    List<String> all = new ArrayList<>(List.of(options));
    all.add("-XX:TieredStopAtLevel=1");
    all.add("-Djava.nio.channels.spi.SelectorProvider=" + HybridSelectorProvider.class.getName());
    // A guest may be so slow that a peer seems not to answer by RDMA.
    all.add("-Ddev.verbena.sockets.fallback=" + Await.LIMIT.toMillis());
    return Program.start(Program.java(all, main));
  }

  @DeviceTest
  void oneSelectorWaitsForAllChannels() throws Exception {
    try (Program program = start(AllChannels.class, EXPORTS)) {
      assertTrue(program.endsWell().contains("all channels"), program::text);
    }
  }

  @DeviceTest
  void optionIsNamedWhereItIsMissing() throws Exception {
    try (Program program = start(NoOption.class)) {
      assertTrue(program.endsWell().contains("--add-exports"), program::text);
    }
  }

  @DeviceTest
  void httpServerAndClientOfTheJdkCommunicate() throws Exception {
    try (Program program =
        start(Http.class, EXPORTS, "--add-modules=java.net.http,jdk.httpserver")) {
      assertTrue(program.endsWell().contains(Http.REQUESTS + " responses"), program::text);
    }
  }

  @DeviceTest
  void httpClientOfTheJdkUpgradesToHttp2() throws Exception {
    try (Program program =
        start(Http2.class, EXPORTS, "--add-modules=java.net.http,jdk.httpserver")) {
      assertTrue(
          program.endsWell().contains("HTTP_2: " + Http.REQUESTS + " responses"), program::text);
    }
  }

  /** Serves and downloads by HTTP, with the JDK's server and client as they are. */
  static final class Http {
    private static final int SIZE = 300_000;

    /** Fewer on an emulated processor, which carries each packet of Soft-RoCE as well. */
    private static final int REQUESTS = Rig.labGuest().isPresent() ? 20 : 100;

    private Http() {}

    public static void main(String[] args) throws Exception {
      byte[] body = new byte[SIZE];
      new Random(42).nextBytes(body);
      HttpServer server = HttpServer.create(new InetSocketAddress(Rig.addressB(), 0), 0);
      server.createContext(
          "/",
          exchange -> {
            assertEquals(Rig.addressA(), exchange.getRemoteAddress().getAddress());
            exchange.sendResponseHeaders(200, SIZE);
            try (OutputStream out = exchange.getResponseBody()) {
              out.write(body);
            }
          });
      server.setExecutor(Executors.newVirtualThreadPerTaskExecutor());
      server.start();
      URI uri =
          URI.create(
              "http://%s:%d/"
                  .formatted(Rig.addressB().getHostAddress(), server.getAddress().getPort()));
      try (HttpClient client =
          HttpClient.newBuilder()
              .version(HttpClient.Version.HTTP_1_1)
              .localAddress(Rig.addressA())
              .build()) {
        List<CompletableFuture<HttpResponse<byte[]>>> responses = new ArrayList<>();
        for (int i = 0; i < REQUESTS; i++) {
          responses.add(
              client.sendAsync(
                  HttpRequest.newBuilder(uri).build(), HttpResponse.BodyHandlers.ofByteArray()));
        }
        for (CompletableFuture<HttpResponse<byte[]>> response : responses) {
          assertArrayEquals(body, response.get().body());
        }
      }
      byTcp(server.getAddress().getPort());
      server.stop(0);
      System.out.println(REQUESTS + " responses");
      System.exit(0); // The virtual threads of the server.
    }

    /** A server at a loopback address, and a datagram, as other parts of a program use them. */
    private static void byTcp(int port) throws Exception {
      HttpServer local =
          HttpServer.create(new InetSocketAddress(InetAddress.getLoopbackAddress(), port), 0);
      local.createContext("/", exchange -> exchange.sendResponseHeaders(204, -1));
      local.start();
      try (HttpClient client = HttpClient.newHttpClient();
          DatagramChannel receiver =
              DatagramChannel.open()
                  .bind(new InetSocketAddress(InetAddress.getLoopbackAddress(), 0));
          DatagramChannel sender = DatagramChannel.open()) {
        URI uri = URI.create("http://127.0.0.1:%d/".formatted(port));
        assertEquals(
            204,
            client
                .send(HttpRequest.newBuilder(uri).build(), HttpResponse.BodyHandlers.discarding())
                .statusCode());
        int _ = sender.send(ByteBuffer.allocate(1), receiver.getLocalAddress());
        assertNotNull(receiver.receive(ByteBuffer.allocate(1)));
      }
      local.stop(0);
    }
  }

  /** Serves by HTTP/2 without TLS with Netty; the JDK's client upgrades its connection. */
  static final class Http2 {
    private static final byte[] BODY = new byte[Http.SIZE];

    private Http2() {}

    private static final class Pipeline extends ChannelInitializer<Channel> {
      @Override
      protected void initChannel(Channel channel) {
        assertEquals(Rig.addressA(), ((InetSocketAddress) channel.remoteAddress()).getAddress());
        HttpServerCodec http = new HttpServerCodec();
        channel
            .pipeline()
            .addLast(
                http,
                new HttpServerUpgradeHandler(
                    http,
                    protocol ->
                        new Http2ServerUpgradeCodec(
                            Http2FrameCodecBuilder.forServer().build(),
                            new Http2MultiplexHandler(new Responder()))));
      }
    }

    /** Answers each stream, of which there is a channel each. */
    @ChannelHandler.Sharable
    private static final class Responder extends SimpleChannelInboundHandler<Http2HeadersFrame> {
      @Override
      protected void channelRead0(ChannelHandlerContext context, Http2HeadersFrame frame) {
        var _ =
            context.write(new DefaultHttp2HeadersFrame(new DefaultHttp2Headers().status("200")));
        var _ =
            context.writeAndFlush(new DefaultHttp2DataFrame(Unpooled.wrappedBuffer(BODY), true));
      }
    }

    public static void main(String[] args) throws Exception {
      new Random(42).nextBytes(BODY);
      Channel server =
          new ServerBootstrap()
              .group(new MultiThreadIoEventLoopGroup(1, NioIoHandler.newFactory()))
              .channel(NioServerSocketChannel.class)
              .childHandler(new Pipeline())
              .bind(Rig.addressB(), 0)
              .sync()
              .channel();
      int port = ((InetSocketAddress) server.localAddress()).getPort();
      HttpRequest request =
          HttpRequest.newBuilder(
                  URI.create("http://%s:%d/".formatted(Rig.addressB().getHostAddress(), port)))
              .build();
      Set<HttpClient.Version> versions = new HashSet<>();
      try (HttpClient client = HttpClient.newBuilder().localAddress(Rig.addressA()).build()) {
        for (int i = 0; i < Http.REQUESTS; i++) {
          HttpResponse<byte[]> response =
              client.send(request, HttpResponse.BodyHandlers.ofByteArray());
          assertArrayEquals(BODY, response.body());
          versions.add(response.version());
        }
      }
      Http.byTcp(port);
      versions.forEach(
          version -> System.out.println(version + ": " + Http.REQUESTS + " responses"));
      System.exit(0); // The threads of Netty.
    }
  }

  /** Opens channels, which fails. */
  static final class NoOption {
    private NoOption() {}

    public static void main(String[] args) {
      System.out.println(assertThrows(UnsupportedOperationException.class, SocketChannel::open));
      System.out.println(assertThrows(UnsupportedOperationException.class, Pipe::open));
    }
  }

  /** Registers a channel of each kind with one selector. */
  static final class AllChannels {
    private static final int ROUNDS = 100;

    private AllChannels() {}

    private static int descriptors() {
      return Objects.requireNonNull(new File("/proc/self/fd").list()).length;
    }

    public static void main(String[] args) throws Exception {
      assertEquals(HybridSelectorProvider.class, SelectorProvider.provider().getClass());
      run(); // What is opened once.
      int before = descriptors();
      run();
      while (descriptors() > before) { // Connections that are ending.
        Thread.onSpinWait();
      }
      System.out.println("all channels");
    }

    private static void run() throws Exception {
      try (LoggedMessages log = new LoggedMessages("dev.verbena.sockets", Level.FINE, "");
          Selector selector = Selector.open()) {
        Pipe pipe = Pipe.open();
        DatagramChannel receiver =
            DatagramChannel.open().bind(new InetSocketAddress(InetAddress.getLoopbackAddress(), 0));
        DatagramChannel sender = DatagramChannel.open();
        try (ServerSocketChannel listener =
                ServerSocketChannel.open().bind(new InetSocketAddress(Rig.addressB(), 0));
            SocketChannel client =
                SocketChannel.open().bind(new InetSocketAddress(Rig.addressA(), 0));
            ServerSocketChannel tcpListener =
                ServerSocketChannel.open()
                    .bind(new InetSocketAddress(InetAddress.getLoopbackAddress(), 0));
            SocketChannel tcpClient = SocketChannel.open(tcpListener.getLocalAddress());
            SocketChannel tcpServer = tcpListener.accept()) {
          var accepted = ChannelBehaviour.inBackground(listener::accept);
          client.connect(listener.getLocalAddress());
          SocketChannel server = accepted.get();
          pipe.source().configureBlocking(false);
          receiver.configureBlocking(false);
          server.configureBlocking(false);
          SelectionKey ofPipe = pipe.source().register(selector, SelectionKey.OP_READ);
          SelectionKey ofDatagrams = receiver.register(selector, SelectionKey.OP_READ);
          assertInstanceOf(RdmaSocketChannel.class, server, () -> log.all().toString());
          SelectionKey ofRdma = server.register(selector, SelectionKey.OP_READ);
          tcpServer.configureBlocking(false);
          tcpClient.configureBlocking(false);
          SelectionKey ofTcpServer = tcpServer.register(selector, SelectionKey.OP_READ);
          SelectionKey ofTcpClient = tcpClient.register(selector, SelectionKey.OP_READ);
          assertEquals(0, selector.selectNow());
          for (int i = 0; i < ROUNDS; i++) {
            tcpClient.write(ByteBuffer.allocate(1));
            tcpServer.write(ByteBuffer.allocate(1));
            pipe.sink().write(ByteBuffer.allocate(1));
            int _ = sender.send(ByteBuffer.allocate(1), receiver.getLocalAddress());
            client.write(ByteBuffer.allocate(1));
            selectAll(selector, Set.of(ofPipe, ofDatagrams, ofRdma, ofTcpServer, ofTcpClient));
            assertEquals(1, tcpServer.read(ByteBuffer.allocate(2)));
            assertEquals(1, tcpClient.read(ByteBuffer.allocate(2)));
            assertEquals(1, pipe.source().read(ByteBuffer.allocate(2)));
            assertNotNull(receiver.receive(ByteBuffer.allocate(2)));
            assertEquals(1, server.read(ByteBuffer.allocate(2)));
            assertEquals(0, selector.selectNow());
          }
          ofDatagrams.interestOps(SelectionKey.OP_READ | SelectionKey.OP_WRITE);
          selectAll(selector, Set.of(ofDatagrams));
          assertTrue(ofDatagrams.isWritable());
          ofDatagrams.interestOps(0);
          assertEquals(0, selector.selectNow());
          pipe.sink().close();
          selectAll(selector, Set.of(ofPipe));
          assertEquals(-1, pipe.source().read(ByteBuffer.allocate(1)));
          server.close();
        }
        pipe.source().close();
        receiver.close();
        sender.close();
        assertEquals(0, selector.selectNow());
        assertEquals(Set.of(), selector.keys());
      }
    }

    private static void selectAll(Selector selector, Set<SelectionKey> wanted) throws Exception {
      Set<SelectionKey> found = new HashSet<>();
      while (!found.containsAll(wanted)) {
        selector.select();
        found.addAll(selector.selectedKeys());
        selector.selectedKeys().clear();
      }
    }
  }
}
