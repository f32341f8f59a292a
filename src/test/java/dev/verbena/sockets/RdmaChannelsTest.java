package dev.verbena.sockets;

import static dev.verbena.testing.Environment.BOOKWORM;
import static dev.verbena.testing.Need.ADDRESSES;
import static dev.verbena.testing.Need.CM;
import static dev.verbena.testing.Need.KERNEL;
import static dev.verbena.testing.Need.WIRE;
import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNotNull;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.sun.management.ThreadMXBean;
import dev.verbena.testing.DeviceTest;
import dev.verbena.testing.DeviceTests;
import dev.verbena.testing.Needs;
import dev.verbena.testing.Once;
import dev.verbena.testing.Rig;
import java.io.IOException;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.lang.management.ManagementFactory;
import java.lang.ref.WeakReference;
import java.net.BindException;
import java.net.ConnectException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.NoRouteToHostException;
import java.net.ServerSocket;
import java.net.Socket;
import java.net.StandardProtocolFamily;
import java.net.StandardSocketOptions;
import java.nio.ByteBuffer;
import java.nio.channels.FileChannel;
import java.nio.channels.NonReadableChannelException;
import java.nio.channels.NonWritableChannelException;
import java.nio.channels.Selector;
import java.nio.channels.SocketChannel;
import java.nio.channels.spi.SelectorProvider;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.util.Random;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.io.TempDir;

/** The channels of {@link RdmaSelectorProvider} behave as those of the JDK. */
@DeviceTests
@Needs(CM)
@Once(
    value = BOOKWORM,
    reason =
        "the protocol of rsockets in Java, over verbs that all versions have, so that the oldest"
            + " one is enough")
class RdmaChannelsTest extends ChannelBehaviour {
  @TempDir Path folder;

  @Override
  SelectorProvider provider() {
    return RdmaSelectorProvider.provider();
  }

  @Override
  InetSocketAddress listening() {
    return new InetSocketAddress(Rig.addressB(), 0);
  }

  @Override
  InetSocketAddress connecting() {
    return new InetSocketAddress(Rig.addressA(), 0);
  }

  @DeviceTest
  @Needs(ADDRESSES)
  void ipv6Connects() throws Exception {
    try (var listener =
            provider().openServerSocketChannel().bind(new InetSocketAddress(Rig.address6B(), 0));
        SocketChannel client =
            provider().openSocketChannel().bind(new InetSocketAddress(Rig.address6A(), 0))) {
      var accepted = inBackground(listener::accept);
      client.connect(listener.getLocalAddress());
      try (SocketChannel server = accepted.get()) {
        assertEquals(client.getLocalAddress(), server.getRemoteAddress());
      }
    }
  }

  @DeviceTest
  void tcpListenerRefuses() throws Exception {
    try (var tcp =
            java.nio.channels.ServerSocketChannel.open()
                .bind(new InetSocketAddress(Rig.addressB(), 0));
        SocketChannel client = provider().openSocketChannel().bind(connecting())) {
      InetSocketAddress address = (InetSocketAddress) tcp.getLocalAddress();
      ConnectException e = assertThrows(ConnectException.class, () -> client.connect(address));
      assertTrue(e.getMessage().contains("TCP socket"), e::getMessage);
    }
  }

  @DeviceTest
  void loopbackAddressIsNotReached() throws Exception {
    try (SocketChannel client = provider().openSocketChannel()) {
      InetSocketAddress loopback = new InetSocketAddress(InetAddress.getLoopbackAddress(), 7471);
      IOException e = assertThrows(IOException.class, () -> client.connect(loopback));
      assertEquals(NoRouteToHostException.class, e.getClass());
      assertTrue(e.getMessage().contains("RDMA"), e::getMessage);
    }
  }

  @DeviceTest
  void addressOfNoDeviceIsNotBound() throws Exception {
    try (SocketChannel client = provider().openSocketChannel()) {
      InetSocketAddress elsewhere = new InetSocketAddress("203.0.113.7", 0);
      BindException e = assertThrows(BindException.class, () -> client.bind(elsewhere));
      assertTrue(e.getMessage().contains("rdma link"), e::getMessage);
    }
  }

  @DeviceTest
  void datagramChannelIsThatOfTheJdk() throws Exception {
    try (var channel = provider().openDatagramChannel()) {
      assertEquals(SelectorProvider.provider(), channel.provider());
    }
  }

  @DeviceTest
  void pipeIsThatOfTheDefaultProvider() throws Exception {
    var pipe = provider().openPipe();
    assertEquals(SelectorProvider.provider(), pipe.source().provider());
    pipe.sink().close();
    pipe.source().close();
  }

  @DeviceTest
  void rdmaOptionsAreThoseOfTheConnection() throws Exception {
    try (SocketChannel client = provider().openSocketChannel()) {
      client.setOption(RdmaSocketOptions.RDMA_SQSIZE, 100);
      client.setOption(RdmaSocketOptions.RDMA_RQSIZE, 200);
      client.setOption(RdmaSocketOptions.RDMA_INLINE, 16);
      assertEquals(100, client.getOption(RdmaSocketOptions.RDMA_SQSIZE));
      assertEquals(200, client.getOption(RdmaSocketOptions.RDMA_RQSIZE));
      assertEquals(16, client.getOption(RdmaSocketOptions.RDMA_INLINE));
      assertThrows(
          IllegalArgumentException.class,
          () -> client.setOption(RdmaSocketOptions.RDMA_SQSIZE, 70_000));
    }
  }

  @DeviceTest
  void filesAreTransferred() throws Exception {
    byte[] content = new byte[3_000_001];
    new Random(42).nextBytes(content);
    Path source = Files.write(folder.resolve("source"), content);
    Path target = folder.resolve("target");
    Pair pair = connected();
    RdmaSocketChannel sender = (RdmaSocketChannel) pair.client();
    RdmaSocketChannel receiver = (RdmaSocketChannel) pair.server();
    try (FileChannel from = FileChannel.open(source);
        FileChannel to =
            FileChannel.open(target, StandardOpenOption.CREATE, StandardOpenOption.WRITE)) {
      var sent =
          inBackground(
              () -> {
                long count = sender.transferFrom(from, 1, Long.MAX_VALUE);
                sender.shutdownOutput();
                return count;
              });
      assertEquals(1_000_000, receiver.transferTo(to, 1, 1_000_000));
      assertEquals(2_000_000, receiver.transferTo(to, 1_000_001, Long.MAX_VALUE));
      assertEquals(3_000_000, sent.get());
      assertEquals(0, receiver.transferTo(to, 3_000_001, 1));
      assertEquals(0, receiver.transferFrom(from, content.length, 1));
      byte[] received = Files.readAllBytes(target);
      content[0] = 0; // Was not transferred.
      assertArrayEquals(content, received);
      assertThrows(NonReadableChannelException.class, () -> receiver.transferFrom(to, 0, 1));
      assertThrows(NonWritableChannelException.class, () -> receiver.transferTo(from, 0, 1));
      assertThrows(IllegalArgumentException.class, () -> receiver.transferFrom(from, -1, 1));
      assertThrows(IllegalArgumentException.class, () -> receiver.transferTo(to, 0, -1));
      receiver.configureBlocking(false);
      long room = receiver.transferFrom(from, 0, Long.MAX_VALUE);
      assertTrue(room > 0 && room < content.length, () -> "room " + room);
      assertEquals(10, sender.transferTo(to, 0, 10));
    }
  }

  @DeviceTest
  void transfersReturnWhatCameBeforeAReset() throws Exception {
    Path file = Files.write(folder.resolve("file"), new byte[100]);
    Pair pair = connected();
    RdmaSocketChannel server = (RdmaSocketChannel) pair.server();
    pair.client().write(ByteBuffer.allocate(10));
    assertEquals(1, server.read(ByteBuffer.allocate(1)), "the message has arrived");
    pair.client().setOption(StandardSocketOptions.SO_LINGER, 0);
    pair.client().close();
    try (FileChannel both =
        FileChannel.open(file, StandardOpenOption.READ, StandardOpenOption.WRITE)) {
      assertEquals(9, server.transferTo(both, 0, 100));
      assertThrows(IOException.class, () -> server.transferTo(both, 0, 100));
      assertThrows(IOException.class, () -> server.transferFrom(both, 0, 100));
    }
  }

  @DeviceTest
  void peerWritesIntoMappedMemory() throws Exception {
    try (var listener = provider().openServerSocketChannel().bind(listening());
        Arena arena = Arena.ofShared();
        RdmaSocketChannel client = RdmaSelectorProvider.provider().openSocketChannel()) {
      client.setOption(RdmaSocketOptions.RDMA_IOMAPSIZE, 1);
      client.bind(connecting());
      var accepted = inBackground(listener::accept);
      client.connect(listener.getLocalAddress());
      try (RdmaSocketChannel server = (RdmaSocketChannel) accepted.get()) {
        MemorySegment memory = arena.allocate(8192, 8);
        server.map(memory, 4096);
        server.write(ByteBuffer.allocateDirect(1)); // Tells the client of the memory.
        assertEquals(1, client.read(ByteBuffer.allocateDirect(1)));
        ByteBuffer value = ByteBuffer.allocateDirect(8).order(java.nio.ByteOrder.nativeOrder());
        value.putLong(0, 4711);
        assertEquals(8, client.writeMapped(value, 4096 + 16));
        client.write(ByteBuffer.allocateDirect(1)); // Arrives after it.
        assertEquals(1, server.read(ByteBuffer.allocateDirect(1)));
        assertEquals(4711, memory.get(ValueLayout.JAVA_LONG, 16));
        value.clear();
        assertThrows(IOException.class, () -> client.writeMapped(value, 0));
        server.unmap(memory);
        assertThrows(IOException.class, () -> server.unmap(memory));
      }
    }
  }

  @DeviceTest
  @Tag("slow")
  void mappedMemoryStaysReachable() throws Exception {
    try (var listener = provider().openServerSocketChannel().bind(listening());
        RdmaSocketChannel client = RdmaSelectorProvider.provider().openSocketChannel()) {
      client.setOption(RdmaSocketOptions.RDMA_IOMAPSIZE, 1);
      client.bind(connecting());
      var accepted = inBackground(listener::accept);
      client.connect(listener.getLocalAddress());
      WeakReference<MemorySegment> memory;
      try (RdmaSocketChannel server = (RdmaSocketChannel) accepted.get()) {
        memory = new WeakReference<>(mapped(server));
        for (int i = 0; i < 3; i++) {
          System.gc();
        }
        assertNotNull(memory.get());
      }
      while (memory.get() != null) {
        System.gc();
      }
    }
  }

  private static MemorySegment mapped(RdmaSocketChannel channel) throws IOException {
    MemorySegment memory = Arena.ofAuto().allocate(4096);
    channel.map(memory, 0);
    return memory;
  }

  @DeviceTest
  @Needs(KERNEL)
  void connectionsLeaveNothingBehind() throws Exception {
    System.out.println(Cycles.run(200));
  }

  @DeviceTest
  void familiesAreThoseOfTheInternet() {
    assertThrows(
        UnsupportedOperationException.class,
        () -> provider().openSocketChannel(StandardProtocolFamily.UNIX));
    assertThrows(
        UnsupportedOperationException.class,
        () -> provider().openServerSocketChannel(StandardProtocolFamily.UNIX));
  }

  @DeviceTest
  void socketsOfJep337Connect() throws Exception {
    try (ServerSocket listener = RdmaSockets.openServerSocket(StandardProtocolFamily.INET);
        Socket client = RdmaSockets.openSocket(StandardProtocolFamily.INET)) {
      listener.bind(listening());
      client.bind(connecting());
      var accepted = inBackground(listener::accept);
      client.connect(listener.getLocalSocketAddress());
      try (Socket server = accepted.get()) {
        client.getOutputStream().write(7);
        assertEquals(7, server.getInputStream().read());
      }
    }
    assertThrows(
        UnsupportedOperationException.class,
        () -> RdmaSockets.openSocketChannel(StandardProtocolFamily.UNIX));
    try (Selector selector = RdmaSockets.openSelector();
        var channel = RdmaSockets.openServerSocketChannel(StandardProtocolFamily.INET6)) {
      channel.configureBlocking(false);
      assertEquals(channel, channel.register(selector, 0).channel());
    }
  }

  @DeviceTest
  void hugeAreasAreNotMapped() throws Exception {
    try (Pair pair = connected();
        Arena arena = Arena.ofConfined()) {
      RdmaSocketChannel channel = (RdmaSocketChannel) pair.client();
      MemorySegment huge = arena.allocate(8).reinterpret(1L << 46);
      assertThrows(IOException.class, () -> channel.map(huge, 0));
      ByteBuffer one = ByteBuffer.allocateDirect(1);
      assertThrows(IOException.class, () -> channel.writeMapped(one, Long.MAX_VALUE));
      assertThrows(IOException.class, () -> channel.writeMapped(one, -1));
      assertThrows(IllegalArgumentException.class, () -> channel.map(arena.allocate(8), -1));
      channel.write(one);
      assertEquals(1, pair.server().read(ByteBuffer.allocate(1)));
    }
  }

  /** Attempts that find nothing, too. The first rounds warm up; a later one must be without. */
  @DeviceTest
  @Needs(WIRE)
  void transfersAllocateNothing() throws Exception {
    ThreadMXBean threads = (ThreadMXBean) ManagementFactory.getThreadMXBean();
    try (Pair pair = connected()) {
      pair.client().configureBlocking(false);
      pair.server().configureBlocking(false);
      ByteBuffer direct = ByteBuffer.allocateDirect(64);
      ByteBuffer heap = ByteBuffer.allocate(64);
      long least = Long.MAX_VALUE;
      for (int round = 0; round < 40 && least > 0; round++) {
        long before = threads.getCurrentThreadAllocatedBytes();
        for (int i = 0; i < 1000; i++) {
          assertEquals(0, pair.server().read(direct.clear()));
          transfer(pair, direct);
          transfer(pair, heap);
        }
        least = Math.min(least, threads.getCurrentThreadAllocatedBytes() - before);
      }
      assertEquals(0, least);
    }
  }

  private static void transfer(Pair pair, ByteBuffer buffer) throws IOException {
    buffer.clear();
    while (buffer.hasRemaining()) {
      pair.client().write(buffer);
    }
    buffer.clear();
    while (buffer.hasRemaining()) {
      pair.server().read(buffer);
    }
  }
}
