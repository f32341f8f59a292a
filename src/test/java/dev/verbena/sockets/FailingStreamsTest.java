package dev.verbena.sockets;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.verbena.Errno;
import dev.verbena.internal.Binding;
import dev.verbena.internal.Libibverbs;
import dev.verbena.internal.Librdmacm;
import dev.verbena.soft.Faults;
import dev.verbena.soft.SoftNetwork;
import dev.verbena.testing.Await;
import dev.verbena.testing.LoggedMessages;
import java.io.IOException;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.StandardSocketOptions;
import java.nio.ByteBuffer;
import java.nio.channels.ClosedChannelException;
import java.nio.channels.SelectionKey;
import java.nio.channels.Selector;
import java.nio.channels.ServerSocketChannel;
import java.nio.channels.SocketChannel;
import java.nio.channels.spi.SelectorProvider;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Queue;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.FutureTask;
import java.util.function.Function;
import java.util.logging.Level;
import java.util.stream.Collectors;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.EnumSource;

/**
 * A verb fails once, or a device is removed, while streams connect, exchange data and end: each
 * call of a channel returns or throws an IOException, the connections of others go on, and nothing
 * remains open.
 */
@Tag("slow")
class FailingStreamsTest {
  private static final SelectorProvider RDMA = RdmaSelectorProvider.provider();
  private static final InetAddress CLIENT = InetAddress.ofLiteral("192.0.2.1");
  private static final InetAddress SERVER = InetAddress.ofLiteral("192.0.2.2");
  private static final InetAddress OTHER = InetAddress.ofLiteral("192.0.2.3");
  private static final int SIZE = 3000;
  private static final int PACKETS = 24;
  private static final int PLACES = 8;

  /** How the client uses its channel. */
  enum Mode {
    BLOCKING,
    SELECTING,

    /** Writes as much as both ends buffer before it reads. */
    WAITING,

    /** Closes with data that it has not read. */
    ABRUPT,

    /** Lets the peer write to its memory. */
    MAPPING
  }

  /** What no channel may throw, and what threads end by. */
  private static final Queue<Throwable> UNEXPECTED = new ConcurrentLinkedQueue<>();

  private final Thread.UncaughtExceptionHandler before =
      Thread.getDefaultUncaughtExceptionHandler();

  @BeforeEach
  void recordUncaughtExceptions() {
    UNEXPECTED.clear();
    Thread.setDefaultUncaughtExceptionHandler((_, uncaught) -> UNEXPECTED.add(uncaught));
  }

  @AfterEach
  void close() {
    Thread.setDefaultUncaughtExceptionHandler(before);
  }

  /** A server that sends back what it receives, and a client of it that nothing happens to. */
  private static final class Place implements AutoCloseable {
    private final SoftNetwork network = SoftNetwork.create();
    private final ServerSocketChannel listener;
    private final SocketChannel polite;
    private final FutureTask<Void> serving;
    private final Map<String, Integer> alwaysOpen;
    private final String kept;
    private volatile boolean isRemoved;

    Place(String kept) throws Exception {
      this.kept = kept;
      network.addDevice("client", CLIENT);
      network.addDevice("server", SERVER);
      network.addDevice("other", OTHER);
      listener = network.call(RDMA::openServerSocketChannel);
      listener.setOption(RdmaSocketOptions.RDMA_IOMAPSIZE, 2);
      network.call(() -> listener.bind(new InetSocketAddress(SERVER, 0)));
      serving = ChannelBehaviour.inBackground(this::serve);
      polite = open(OTHER);
      polite.connect(listener.getLocalAddress());
      exchange(polite);
      alwaysOpen = open();
    }

    private SocketChannel open(InetAddress local) throws IOException {
      try {
        SocketChannel channel = network.call(RDMA::openSocketChannel);
        keepAlive(channel);
        return network.call(() -> channel.bind(new InetSocketAddress(local, 0)));
      } catch (IOException e) {
        throw e;
      } catch (Exception e) {
        throw new AssertionError("only an IOException", e);
      }
    }

    /** Otherwise a reader waits for ever for a peer whose device was removed. */
    private static void keepAlive(SocketChannel channel) throws IOException {
      channel.setOption(StandardSocketOptions.SO_KEEPALIVE, true);
      channel.setOption(ChannelBehaviour.keepaliveTime(channel), 1);
    }

    private Void serve() {
      while (true) {
        try {
          SocketChannel accepted = listener.accept();
          Thread.ofVirtual().start(() -> answer(accepted));
        } catch (ClosedChannelException e) {
          return null;
        } catch (IOException e) {
          if (isRemoved) {
            return null;
          }
        }
      }
    }

    private void answer(SocketChannel channel) {
      try (channel) {
        keepAlive(channel);
        ByteBuffer data = ByteBuffer.allocate(SIZE);
        while (channel.read(data.clear()) >= 0) {
          data.flip();
          while (data.hasRemaining()) {
            channel.write(data);
          }
        }
        channel.shutdownOutput();
      } catch (Throwable t) {
        expectIo(t);
      }
    }

    private void expectIo(Throwable t) {
      if (!(t instanceof IOException)) {
        UNEXPECTED.add(t);
      }
      for (Throwable suppressed : t.getSuppressed()) {
        expectIo(suppressed);
      }
    }

    private static void exchange(SocketChannel channel) throws IOException {
      ByteBuffer sent = ByteBuffer.allocate(SIZE);
      while (sent.hasRemaining()) {
        channel.write(sent);
      }
      ByteBuffer received = ByteBuffer.allocate(SIZE);
      while (received.hasRemaining()) {
        requireData(channel.read(received));
      }
    }

    private static void requireData(int count) throws IOException {
      if (count < 0) {
        throw new IOException("the end of the stream");
      }
    }

    /** All that a client does with a channel. */
    private void live(Mode mode) throws IOException {
      try (SocketChannel channel = open(CLIENT)) {
        switch (mode) {
          case BLOCKING -> liveBlocking(channel);
          case SELECTING -> liveSelecting(channel);
          case WAITING -> liveWaiting(channel);
          case ABRUPT -> {
            channel.connect(listener.getLocalAddress());
            channel.write(ByteBuffer.allocate(SIZE));
            requireData(channel.read(ByteBuffer.allocate(1)));
          }
          case MAPPING -> liveMapping((RdmaSocketChannel) channel);
        }
      }
    }

    private void liveBlocking(SocketChannel channel) throws IOException {
      channel.connect(listener.getLocalAddress());
      exchange(channel);
      channel.shutdownOutput();
      channel.read(ByteBuffer.allocate(1));
      channel.shutdownInput();
    }

    private void liveMapping(RdmaSocketChannel channel) throws IOException {
      MemorySegment first = Arena.ofAuto().allocate(SIZE);
      MemorySegment second = Arena.ofAuto().allocate(SIZE);
      channel.connect(listener.getLocalAddress());
      channel.map(first, 0);
      channel.map(second, SIZE);
      exchange(channel);
      channel.unmap(first);
    }

    private void liveWaiting(SocketChannel channel) throws IOException {
      channel.setOption(StandardSocketOptions.SO_SNDBUF, 20_000);
      channel.setOption(StandardSocketOptions.SO_RCVBUF, 8_000);
      channel.connect(listener.getLocalAddress());
      channel.configureBlocking(false);
      ByteBuffer buffer = ByteBuffer.allocate(SIZE);
      int waiting = 0;
      int count;
      do {
        count = channel.write(buffer.clear());
        waiting += count;
      } while (count > 0);
      channel.shutdownOutput();
      channel.configureBlocking(true);
      while (waiting > 0) {
        count = channel.read(buffer.clear());
        requireData(count);
        waiting -= count;
      }
    }

    private void liveSelecting(SocketChannel channel) throws IOException {
      try (Selector selector = RDMA.openSelector()) {
        channel.configureBlocking(false);
        SelectionKey key = channel.register(selector, SelectionKey.OP_CONNECT);
        if (!channel.connect(listener.getLocalAddress())) {
          do {
            selector.select();
          } while (!channel.finishConnect());
        }
        ByteBuffer sent = ByteBuffer.allocate(SIZE);
        key.interestOps(SelectionKey.OP_WRITE);
        while (sent.hasRemaining()) {
          selector.select();
          channel.write(sent);
        }
        channel.shutdownOutput();
        key.interestOps(SelectionKey.OP_READ);
        ByteBuffer received = ByteBuffer.allocate(SIZE + 1);
        int count;
        do {
          selector.select();
          count = channel.read(received);
        } while (count >= 0);
      }
    }

    private void tryToLive(Mode mode) {
      try {
        live(mode);
      } catch (Throwable t) {
        expectIo(t);
      }
    }

    /** What is open, but for the kind of object that a verb could not destroy. */
    private Map<String, Integer> open() {
      Map<String, Integer> open = network.openObjects();
      open.remove(kept);
      return open;
    }

    private void awaitOpen(Map<String, Integer> expected, String after)
        throws InterruptedException {
      boolean _ = Await.attempt(after, () -> open().equals(expected) ? true : null);
      assertEquals(List.of(), List.copyOf(UNEXPECTED), after);
    }

    /** The polite client goes on, and nothing else is open. */
    private void assertGoesOn(String after) throws Exception {
      awaitOpen(alwaysOpen, after);
      exchange(polite);
    }

    @Override
    public void close() throws IOException {
      polite.close();
      listener.close();
      try {
        serving.get();
        awaitOpen(Map.of(), "the close of all channels");
      } catch (InterruptedException | ExecutionException e) {
        throw new AssertionError(e);
      }
      network.close();
    }
  }

  /** What stays open if a function fails; a domain is that of the next identifier. */
  private static final Map<String, String> KEPT =
      Map.of(
          "ibv_destroy_comp_channel", "completion channel", "ibv_dealloc_pd", "protection domain");

  /** How often the streams call each C function, from the first connect to the last close. */
  private static Map<String, Long> calls(Mode mode) throws Exception {
    try (LoggedMessages calls = new LoggedMessages("dev.verbena.calls", Level.FINER, "");
        Place place = new Place("")) {
      int before = calls.all().size();
      place.live(mode);
      place.assertGoesOn("a life without a fault");
      List<String> all = calls.all();
      return all.subList(before, all.size()).stream()
          .map(line -> line.substring("FINER: ".length(), line.indexOf('(')))
          .filter(FailingStreamsTest::canFail)
          .collect(Collectors.groupingBy(Function.identity(), Collectors.counting()));
    }
  }

  /** Not those that never fail, and those behind an inline function. */
  private static boolean canFail(String function) {
    return function.matches("(ibv|rdma)_.*")
        && !Binding.infallible(Libibverbs.class).contains(function)
        && !Binding.infallible(Librdmacm.class).contains(function);
  }

  @ParameterizedTest
  @EnumSource
  void callsEndWhenAVerbFails(Mode mode) throws Exception {
    Map<String, Long> calls = calls(mode);
    assertTrue(calls.keySet().containsAll(List.of("rdma_accept", "ibv_dereg_mr")), calls::toString);
    for (var each : calls.entrySet()) {
      String function = each.getKey();
      String kept = KEPT.getOrDefault(function, "");
      try (Place place = new Place(kept)) {
        for (int call = 1; call <= each.getValue(); call++) {
          Faults _ = place.network.faults().fail(function, call, Errno.ENOMEM);
          place.tryToLive(mode);
          Faults _ = place.network.faults().none();
          place.assertGoesOn(function + " " + call);
        }
        place.live(mode);
      }
    }
  }

  @ParameterizedTest
  @CsvSource({
    "client, BLOCKING",
    "client, SELECTING",
    "client, WAITING",
    "server, BLOCKING",
    "server, SELECTING",
    "server, WAITING"
  })
  void callsEndWhenADeviceIsRemoved(String device, Mode mode) throws Exception {
    try (LoggedMessages log = new LoggedMessages("dev.verbena", Level.WARNING, "unexpected");
        ExecutorService threads = Executors.newFixedThreadPool(PLACES)) {
      List<Future<Boolean>> lives = new ArrayList<>();
      for (int i = 1; i <= PACKETS; i++) {
        int packets = i;
        lives.add(threads.submit(() -> isRemovedAfter(packets, device, mode)));
      }
      int removed = 0;
      for (Future<Boolean> life : lives) {
        removed += life.get() ? 1 : 0;
      }
      assertTrue(removed > PACKETS / 4, "removed in time: " + removed);
      assertEquals(List.of(), log.all());
    }
  }

  /** Removes a device when so many packets were sent; returns false if there were fewer. */
  private static boolean isRemovedAfter(int packets, String device, Mode mode) throws Exception {
    try (Place place = new Place("")) {
      CountDownLatch left = new CountDownLatch(packets);
      place.network.trace(
          line -> {
            if (line.startsWith("sent ") && left.getCount() > 0) {
              left.countDown();
              if (left.getCount() == 0) { // Until the device is removed, nothing more arrives.
                var _ = place.network.faults().partition("client", "server");
              }
            }
          });
      FutureTask<Boolean> living =
          ChannelBehaviour.inBackground(
              () -> {
                place.tryToLive(mode);
                return true;
              });
      Await.until("the packets", () -> left.getCount() == 0 || living.isDone());
      place.network.trace(line -> {});
      boolean isInTime = !living.isDone();
      place.isRemoved = device.equals("server");
      place.network.removeDevice(device);
      boolean _ = living.get();
      if (place.isRemoved) {
        assertThrows(IOException.class, () -> Place.exchange(place.polite));
      } else {
        place.assertGoesOn("the removal after " + packets);
      }
      return isInTime;
    }
  }
}
