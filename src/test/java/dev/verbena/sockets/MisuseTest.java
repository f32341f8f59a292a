package dev.verbena.sockets;

import static dev.verbena.testing.Environment.SOFT;
import static dev.verbena.testing.Need.CM;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.verbena.testing.DeviceTest;
import dev.verbena.testing.Needs;
import dev.verbena.testing.Once;
import dev.verbena.testing.Rig;
import java.io.Closeable;
import java.io.IOException;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Method;
import java.lang.reflect.Modifier;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.ServerSocket;
import java.net.Socket;
import java.net.SocketAddress;
import java.net.SocketOption;
import java.net.StandardSocketOptions;
import java.net.UnixDomainSocketAddress;
import java.nio.ByteBuffer;
import java.nio.channels.ClosedChannelException;
import java.nio.channels.FileChannel;
import java.nio.channels.NotYetConnectedException;
import java.nio.channels.SelectionKey;
import java.nio.channels.Selector;
import java.nio.channels.ServerSocketChannel;
import java.nio.channels.SocketChannel;
import java.nio.channels.spi.SelectorProvider;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Comparator;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.function.Consumer;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.BeforeEach;

/**
 * Every public method of channels, sockets, selectors and keys, called with bad arguments and in
 * several states: those of {@link RdmaSelectorProvider} fail where those of the JDK do, by an
 * exception that their specification has. Which of two mistakes is reported may differ.
 */
@Needs(CM)
@Once(value = SOFT, reason = "refused before librdmacm is called")
class MisuseTest {
  /** The methods that differ: there are neither urgent data nor traffic classes. */
  private static final Set<String> UNSUPPORTED =
      Set.of("Socket.sendUrgentData", "Socket.setOOBInline", "Socket.setTrafficClass");

  /** The methods after which an object is in another state. */
  private static final Set<String> CHANGING =
      Set.of(
          "close",
          "shutdownInput",
          "shutdownOutput",
          "configureBlocking",
          "bind",
          "connect",
          "cancel");

  /** A provider, and addresses for it. */
  private record Network(SelectorProvider provider, InetAddress listening, InetAddress connecting) {
    ServerSocketChannel listener() throws IOException {
      ServerSocketChannel channel = provider.openServerSocketChannel();
      channel.bind(new InetSocketAddress(listening, 0)).configureBlocking(false);
      return channel;
    }

    /** A connection whose other end is closed with it. */
    SocketChannel connected(List<Closeable> opened) throws Exception {
      try (ServerSocketChannel listener = provider.openServerSocketChannel()) {
        listener.bind(new InetSocketAddress(listening, 0));
        SocketChannel client = provider.openSocketChannel();
        opened.add(client);
        client.bind(new InetSocketAddress(connecting, 0));
        var accepted = ChannelBehaviour.inBackground(listener::accept);
        client.connect(listener.getLocalAddress());
        opened.add(accepted.get());
        client.configureBlocking(false);
        return client;
      }
    }
  }

  /** Makes an object in a state; what must be closed is added to the list. */
  private interface State {
    Object of(Network network, List<Closeable> opened) throws Exception;
  }

  private static final ByteBuffer READ_ONLY = ByteBuffer.allocate(1).asReadOnlyBuffer();

  /** Arguments of each type. Timeouts of 0, which are infinite, are not among them. */
  private static final Map<Class<?>, List<?>> ARGUMENTS =
      Map.of(
          boolean.class,
          List.of(false, true),
          int.class,
          List.of(-1, 1, Integer.MAX_VALUE),
          long.class,
          List.of(-1L, 1L, Long.MAX_VALUE),
          ByteBuffer.class,
          Arrays.asList(null, READ_ONLY, ByteBuffer.allocate(0), ByteBuffer.allocateDirect(1)),
          ByteBuffer[].class,
          Arrays.asList(
              null,
              new ByteBuffer[0],
              new ByteBuffer[] {null},
              new ByteBuffer[] {READ_ONLY},
              new ByteBuffer[] {ByteBuffer.allocate(1), ByteBuffer.allocate(0)}),
          SocketAddress.class,
          Arrays.asList(
              null,
              InetSocketAddress.createUnresolved("unknown.invalid", 1),
              UnixDomainSocketAddress.of("/nowhere")),
          SocketOption.class,
          Arrays.asList(
              null,
              StandardSocketOptions.TCP_NODELAY,
              StandardSocketOptions.SO_RCVBUF,
              StandardSocketOptions.IP_MULTICAST_TTL),
          Object.class,
          Arrays.asList(null, true, -1, 1, "text"),
          Consumer.class,
          Arrays.asList(null, (Consumer<SelectionKey>) key -> {}));

  private final List<String> differences = new ArrayList<>();
  private Network tcp;
  private Network rdma;

  @BeforeEach
  void networks() {
    InetAddress loopback = InetAddress.getLoopbackAddress();
    tcp = new Network(SelectorProvider.provider(), loopback, loopback);
    rdma = new Network(RdmaSelectorProvider.provider(), Rig.addressB(), Rig.addressA());
  }

  /** All argument lists of a method; none if it has a parameter of another type. */
  private static List<Object[]> argumentLists(Method method) {
    List<Object[]> lists = new ArrayList<>(List.<Object[]>of(new Object[0]));
    for (Class<?> type : method.getParameterTypes()) {
      List<Object[]> longer = new ArrayList<>();
      for (Object[] list : lists) {
        for (Object value : ARGUMENTS.getOrDefault(type, List.of())) {
          Object[] more = Arrays.copyOf(list, list.length + 1);
          more[list.length] = value;
          longer.add(more);
        }
      }
      lists = longer;
    }
    return lists;
  }

  /** Calls a method; returns what it threw, or null. */
  private static @Nullable Throwable outcome(Method method, Object target, Object[] arguments) {
    if (target instanceof Selector selector) {
      selector.wakeup(); // No selection waits.
    }
    try {
      Object _ = method.invoke(target, arguments);
      return null;
    } catch (InvocationTargetException e) {
      return e.getCause();
    } catch (IllegalAccessException e) {
      throw new AssertionError(e);
    }
  }

  private static boolean isSame(@Nullable Throwable expected, @Nullable Throwable actual) {
    if (expected == null || actual == null) {
      return expected == null && actual == null;
    }
    boolean isMistake =
        actual instanceof IllegalArgumentException
            || actual instanceof NullPointerException
            || actual instanceof IndexOutOfBoundsException
            || actual instanceof UnsupportedOperationException;
    return isMistake
        || (expected instanceof IllegalStateException && actual instanceof IllegalStateException)
        || actual instanceof IOException;
  }

  private void compare(Class<?> type, String state, State maker) throws Exception {
    List<Method> methods =
        Stream.of(type.getMethods())
            .filter(m -> m.getDeclaringClass() != Object.class && !m.isBridge())
            .filter(m -> !Modifier.isStatic(m.getModifiers()))
            .sorted(Comparator.comparing(m -> CHANGING.contains(m.getName())))
            .toList();
    List<Closeable> opened = new ArrayList<>();
    Object expected = maker.of(tcp, opened);
    Object actual = maker.of(rdma, opened);
    try {
      for (Method method : methods) {
        if (CHANGING.contains(method.getName())) {
          expected = maker.of(tcp, opened);
          actual = maker.of(rdma, opened);
        }
        compare(type, state, method, expected, actual);
      }
    } finally {
      for (Closeable resource : opened.reversed()) {
        resource.close();
      }
    }
  }

  private void compare(Class<?> type, String state, Method method, Object expected, Object actual) {
    String name = type.getSimpleName() + "." + method.getName();
    for (Object[] arguments : argumentLists(method)) {
      Throwable ofTcp = outcome(method, expected, arguments);
      Throwable ofRdma = outcome(method, actual, arguments);
      if (!isSame(ofTcp, ofRdma) && !UNSUPPORTED.contains(name)) {
        differences.add(
            "%s %s%s: %s, over RDMA %s"
                .formatted(state, name, Arrays.deepToString(arguments), ofTcp, ofRdma));
      }
    }
  }

  private static <T extends Closeable> T closing(T resource, List<Closeable> opened) {
    opened.add(resource);
    return resource;
  }

  private static <T extends Closeable> T closed(T resource) throws IOException {
    resource.close();
    return resource;
  }

  private void assertSame() {
    assertEquals("", String.join("\n", differences));
  }

  @DeviceTest
  void socketChannels() throws Exception {
    Class<?> type = SocketChannel.class;
    compare(type, "fresh", (of, opened) -> closing(of.provider.openSocketChannel(), opened));
    compare(type, "closed", (of, opened) -> closed(of.connected(opened)));
    compare(type, "connected", Network::connected);
    assertSame();
  }

  @DeviceTest
  void serverSocketChannels() throws Exception {
    Class<?> type = ServerSocketChannel.class;
    compare(type, "fresh", (of, opened) -> closing(of.provider.openServerSocketChannel(), opened));
    compare(type, "bound", (of, opened) -> closing(of.listener(), opened));
    compare(type, "closed", (of, opened) -> closed(of.listener()));
    assertSame();
  }

  @DeviceTest
  void sockets() throws Exception {
    Class<?> type = Socket.class;
    compare(
        type, "fresh", (of, opened) -> closing(of.provider.openSocketChannel(), opened).socket());
    compare(type, "connected", (of, opened) -> of.connected(opened).socket());
    compare(type, "closed", (of, opened) -> closed(of.connected(opened)).socket());
    assertSame();
  }

  @DeviceTest
  void serverSockets() throws Exception {
    Class<?> type = ServerSocket.class;
    compare(
        type,
        "fresh",
        (of, opened) -> closing(of.provider.openServerSocketChannel(), opened).socket());
    compare(type, "bound", (of, opened) -> closing(of.listener(), opened).socket());
    compare(type, "closed", (of, opened) -> closed(of.listener()).socket());
    assertSame();
  }

  private static SelectionKey key(Network network, List<Closeable> opened) throws IOException {
    ServerSocketChannel channel = closing(network.listener(), opened);
    return channel.register(closing(network.provider.openSelector(), opened), 0);
  }

  private static SelectionKey cancelled(SelectionKey key) {
    key.cancel();
    return key;
  }

  @DeviceTest
  void selectorsAndKeys() throws Exception {
    compare(Selector.class, "open", (of, opened) -> closing(of.provider.openSelector(), opened));
    compare(Selector.class, "closed", (of, opened) -> closed(of.provider.openSelector()));
    compare(SelectionKey.class, "valid", MisuseTest::key);
    compare(SelectionKey.class, "cancelled", (of, opened) -> cancelled(key(of, opened)));
    assertSame();
  }

  /** What only channels of this provider have. */
  @DeviceTest
  void mappedMemory() throws Exception {
    List<Closeable> opened = new ArrayList<>();
    RdmaSocketChannel fresh = RdmaSelectorProvider.provider().openSocketChannel();
    opened.add(fresh);
    RdmaSocketChannel connected = (RdmaSocketChannel) rdma.connected(opened);
    RdmaSocketChannel closed = closed(RdmaSelectorProvider.provider().openSocketChannel());
    try (Arena arena = Arena.ofConfined()) {
      MemorySegment memory = arena.allocate(8);
      ByteBuffer one = ByteBuffer.allocateDirect(1);
      assertThrows(NotYetConnectedException.class, () -> fresh.map(memory, 0));
      assertThrows(NotYetConnectedException.class, () -> fresh.unmap(memory));
      assertThrows(NotYetConnectedException.class, () -> fresh.writeMapped(one, 0));
      Path empty = Files.createTempFile("misuse", "");
      try (FileChannel file = FileChannel.open(empty, StandardOpenOption.DELETE_ON_CLOSE)) {
        assertThrows(NotYetConnectedException.class, () -> fresh.transferFrom(file, 0, 1));
        assertThrows(NotYetConnectedException.class, () -> fresh.transferTo(file, 0, 1));
        assertThrows(ClosedChannelException.class, () -> closed.transferFrom(file, 0, 1));
        assertThrows(ClosedChannelException.class, () -> closed.transferTo(file, 0, 1));
      }
      assertThrows(NullPointerException.class, () -> connected.transferFrom(null, 0, 1));
      assertThrows(NullPointerException.class, () -> connected.transferTo(null, 0, 1));
      assertThrows(ClosedChannelException.class, () -> closed.map(memory, 0));
      assertThrows(ClosedChannelException.class, () -> closed.unmap(memory));
      assertThrows(ClosedChannelException.class, () -> closed.writeMapped(one, 0));
      assertThrows(NullPointerException.class, () -> connected.map(null, 0));
      assertThrows(NullPointerException.class, () -> connected.unmap(null));
      assertThrows(NullPointerException.class, () -> connected.writeMapped(null, 0));
      for (MemorySegment bad :
          List.of(
              MemorySegment.NULL,
              MemorySegment.ofArray(new byte[8]),
              memory.asSlice(0, 0),
              memory.asReadOnly())) {
        assertThrows(IllegalArgumentException.class, () -> connected.map(bad, 0), bad::toString);
      }
      assertThrows(
          IllegalArgumentException.class, () -> connected.writeMapped(ByteBuffer.allocate(1), 0));
      assertThrows(IOException.class, () -> connected.map(memory, 0)); // No RDMA_IOMAPSIZE.
      assertThrows(IOException.class, () -> connected.unmap(memory));
      assertThrows(IOException.class, () -> connected.writeMapped(one, 0));
      var elsewhere = ChannelBehaviour.inBackground(() -> mapFails(connected, memory));
      assertEquals(WrongThreadException.class, elsewhere.get());
    }
    MemorySegment freed;
    try (Arena arena = Arena.ofConfined()) {
      freed = arena.allocate(8);
    }
    assertEquals(IllegalStateException.class, mapFails(connected, freed));
    assertTrue(connected.isOpen());
    for (Closeable resource : opened) {
      resource.close();
    }
  }

  private static Class<?> mapFails(RdmaSocketChannel channel, MemorySegment memory) {
    return assertThrows(RuntimeException.class, () -> channel.map(memory, 0)).getClass();
  }

  @DeviceTest
  void familiesAreNotNull() {
    assertThrows(NullPointerException.class, () -> RdmaSockets.openSocket(null));
    assertThrows(NullPointerException.class, () -> RdmaSockets.openServerSocket(null));
    assertThrows(NullPointerException.class, () -> RdmaSockets.openSocketChannel(null));
    assertThrows(NullPointerException.class, () -> RdmaSockets.openServerSocketChannel(null));
    assertThrows(NullPointerException.class, () -> rdma.provider.openDatagramChannel(null));
  }
}
