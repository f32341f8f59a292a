package dev.verbena.sockets;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.verbena.soft.SoftNetwork;
import dev.verbena.testing.Await;
import java.io.IOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.SocketException;
import java.net.StandardSocketOptions;
import java.nio.ByteBuffer;
import java.nio.channels.ServerSocketChannel;
import java.nio.channels.SocketChannel;
import java.nio.channels.spi.SelectorProvider;
import java.util.ArrayList;
import java.util.Collections;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Queue;
import java.util.Random;
import java.util.Set;
import java.util.concurrent.Callable;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.ExecutorCompletionService;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.function.BiPredicate;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

/**
 * Both ends of a connection write, shut their output, close and abort, in each order, once by TCP
 * and then by RDMA on a network that loses one packet, each of the last ten in turn, or three in a
 * row. Who reads what, and how it ends, is as over TCP.
 */
@Tag("slow")
class EndsBesideTcpTest {
  private static final SelectorProvider RDMA = RdmaSelectorProvider.provider();
  private static final InetAddress CLIENT = InetAddress.ofLiteral("192.0.2.1");
  private static final InetAddress SERVER = InetAddress.ofLiteral("192.0.2.2");

  /** More than a packet, and less than the buffers. */
  private static final int SIZE = 3000;

  private static final int LAST = 10;
  private static final int ROW = 3;
  private static final int NETWORKS = 16;

  private enum Action {
    WRITE,
    SHUT,

    /** Reads what the peer has written, and not the end. */
    READ,

    READ_TO_THE_END,
    CLOSE,
    ABORT
  }

  private record Step(boolean isOfClient, Action action) {
    Step mirrored() {
      return new Step(!isOfClient, action);
    }

    @Override
    public String toString() {
      return (isOfClient ? "client " : "server ") + action;
    }
  }

  /** How a stream ended for its reader. */
  private enum End {
    END,
    RESET
  }

  /** What an end has read to the end. */
  private record Read(int bytes, End end) {}

  /** What each end has read, in the order of the reads. */
  private static List<Read> run(List<Step> script, SocketChannel client, SocketChannel server)
      throws IOException {
    List<Read> reads = new ArrayList<>();
    try (client;
        server) {
      for (Step step : script) {
        SocketChannel channel = step.isOfClient() ? client : server;
        switch (step.action()) {
          case WRITE -> assertEquals(SIZE, channel.write(ByteBuffer.wrap(data(step))));
          case SHUT -> channel.shutdownOutput();
          case READ -> {
            ByteBuffer target = ByteBuffer.allocate(SIZE);
            while (target.hasRemaining()) {
              assertTrue(channel.read(target) > 0, "the end of the stream");
            }
          }
          case READ_TO_THE_END -> reads.add(readToTheEnd(step, channel));
          case CLOSE -> channel.close();
          case ABORT -> {
            channel.setOption(StandardSocketOptions.SO_LINGER, 0);
            channel.close();
          }
        }
      }
    }
    return reads;
  }

  private static byte[] data(Step writer) {
    byte[] bytes = new byte[SIZE];
    new Random(writer.isOfClient() ? 1 : 2).nextBytes(bytes);
    return bytes;
  }

  private static Read readToTheEnd(Step step, SocketChannel channel) throws IOException {
    ByteBuffer target = ByteBuffer.allocate(2 * SIZE);
    End end = null;
    while (end == null) {
      try {
        end = channel.read(target) < 0 ? End.END : null;
      } catch (SocketException e) {
        String message = e.getMessage(); // Or nobody is there any more who acknowledges its data.
        assertTrue(
            message.equals("Connection reset") || message.contains("RETRY_EXC_ERR"), message);
        end = End.RESET;
      }
    }
    ByteBuffer expected =
        ByteBuffer.wrap(data(step.mirrored()), 0, Math.min(SIZE, target.position()));
    assertEquals(expected, target.flip());
    return new Read(target.limit(), end);
  }

  // The scripts

  private static final Step READ = new Step(true, Action.READ_TO_THE_END);
  private static final Step READ_BY_SERVER = READ.mirrored();
  private static final Step CLOSE = new Step(true, Action.CLOSE);
  private static final Step ABORT = new Step(true, Action.ABORT);

  private static Set<List<Step>> scripts() {
    Set<List<Step>> scripts = new LinkedHashSet<>();
    List<List<Action>> beginnings =
        List.of(
            List.of(),
            List.of(Action.WRITE),
            List.of(Action.SHUT),
            List.of(Action.WRITE, Action.SHUT));
    for (List<Action> client : beginnings) {
      for (List<Action> server : beginnings) {
        for (List<Step> beginning : orders(steps(true, client), steps(false, server))) {
          addEnds(scripts, beginning, server.contains(Action.WRITE));
          if (client.contains(Action.SHUT) && server.contains(Action.SHUT)) {
            scripts.add(with(beginning, READ, READ_BY_SERVER));
            scripts.add(with(beginning, READ, CLOSE, READ_BY_SERVER));
          }
        }
      }
    }
    return scripts;
  }

  /** The client ends, the server reads. */
  private static void addEnds(
      Set<List<Step>> scripts, List<Step> beginning, boolean isServerWriting) {
    for (Step last : List.of(CLOSE, ABORT)) {
      add(scripts, with(beginning, last, READ_BY_SERVER));
      if (isServerWriting) {
        add(scripts, with(beginning, new Step(true, Action.READ), last, READ_BY_SERVER));
      }
    }
  }

  /** Adds a script, and if it is orderly the one with the roles of the ends exchanged. */
  private static void add(Set<List<Step>> scripts, List<Step> script) {
    scripts.add(script);
    if (isOrderly(script)) {
      scripts.add(script.stream().map(Step::mirrored).toList());
    }
  }

  private static List<Step> with(List<Step> beginning, Step... ends) {
    List<Step> script = new ArrayList<>(beginning);
    script.addAll(List.of(ends));
    return script;
  }

  private static List<Step> steps(boolean isOfClient, List<Action> actions) {
    return actions.stream().map(action -> new Step(isOfClient, action)).toList();
  }

  /** Returns all orders of two sequences. */
  private static List<List<Step>> orders(List<Step> a, List<Step> b) {
    if (a.isEmpty() || b.isEmpty()) {
      return List.of(a.isEmpty() ? b : a);
    }
    List<List<Step>> orders = new ArrayList<>();
    orders(b, a.subList(1, a.size())).forEach(rest -> orders.add(before(a.getFirst(), rest)));
    orders(a, b.subList(1, b.size())).forEach(rest -> orders.add(before(b.getFirst(), rest)));
    return orders;
  }

  private static List<Step> before(Step first, List<Step> rest) {
    List<Step> all = new ArrayList<>(rest);
    all.addFirst(first);
    return all;
  }

  // The connections

  private static List<Read> byTcp(List<Step> script) throws Exception {
    InetSocketAddress any = new InetSocketAddress(InetAddress.getLoopbackAddress(), 0);
    try (ServerSocketChannel listener = ServerSocketChannel.open().bind(any)) {
      SocketChannel client = SocketChannel.open(listener.getLocalAddress());
      return run(script, client, listener.accept());
    }
  }

  /** Two devices and a listener, for one connection after the other. */
  private static final class Rdma implements AutoCloseable {
    private final SoftNetwork network = SoftNetwork.create();
    private final ServerSocketChannel listener;
    private final Map<String, Integer> alwaysOpen;

    Rdma() throws Exception {
      network.addDevice("client", CLIENT);
      network.addDevice("server", SERVER);
      listener = network.call(RDMA::openServerSocketChannel);
      network.call(() -> listener.bind(new InetSocketAddress(SERVER, 0)));
      alwaysOpen = network.openObjects();
    }

    /** Runs a script; of the packets after the connect, some are lost. */
    int run(List<Step> script, BiPredicate<String, Integer> isLost, List<Read> reads)
        throws Exception {
      SocketChannel client =
          network.call(() -> RDMA.openSocketChannel().bind(new InetSocketAddress(CLIENT, 0)));
      client.connect(listener.getLocalAddress());
      SocketChannel server = listener.accept();
      int[] count = {0};
      network.trace(
          line -> {
            if (line.startsWith("sent ") && isLost.test(line, count[0]++)) {
              network.faults().partition("client", "server");
            } else {
              network.faults().heal();
            }
          });
      reads.addAll(EndsBesideTcpTest.run(script, client, server));
      boolean _ =
          Await.attempt(
              "the end of " + script, () -> network.openObjects().equals(alwaysOpen) ? true : null);
      network.trace(line -> {});
      network.faults().heal();
      return count[0];
    }

    @Override
    public void close() throws IOException {
      listener.close();
      network.close();
    }
  }

  /** Whether the ends close, and have read what the other has written. */
  private static boolean isOrderly(List<Step> script) {
    for (Step step : script) {
      List<Step> before = script.subList(0, script.indexOf(step));
      boolean isUnread =
          before.contains(new Step(!step.isOfClient(), Action.WRITE))
              && !before.contains(new Step(step.isOfClient(), Action.READ))
              && !before.contains(new Step(step.isOfClient(), Action.READ_TO_THE_END));
      if (step.action() == Action.ABORT || (step.action() == Action.CLOSE && isUnread)) {
        return false;
      }
    }
    return true;
  }

  /**
   * Whether an end may read this where packets are lost. What an abort finds on its way is lost.
   * Data that arrives after a close is not unread: that end is in order.
   */
  private static boolean isPermitted(List<Step> script, Read byTcp, Read read) {
    return read.equals(byTcp)
        || (!isOrderly(script)
            && (read.end() == End.RESET
                ? read.bytes() <= byTcp.bytes()
                : read.bytes() == byTcp.bytes() && !script.contains(ABORT)));
  }

  private static void compare(Rdma rdma, List<Step> script) throws Exception {
    List<Read> byTcp = byTcp(script);
    int packets = compare(rdma, script, byTcp, 0, 0);
    for (int first = Math.max(0, packets - LAST); first < packets; first++) {
      int _ = compare(rdma, script, byTcp, first, 1);
      if (isOrderly(script) && first % ROW == 0) {
        int _ = compare(rdma, script, byTcp, first, ROW);
      }
    }
  }

  /** Returns the number of packets. */
  private static int compare(Rdma rdma, List<Step> script, List<Read> byTcp, int first, int count)
      throws Exception {
    String what = script + ", " + count + " packets lost from " + first;
    // Nobody repeats a DREQ whose sender is closed, nor the RST of TCP: a reader waits for ever.
    boolean isDisconnectNeeded = !isOrderly(script);
    List<Read> reads = new ArrayList<>();
    int packets;
    try {
      packets =
          rdma.run(
              script,
              (line, i) ->
                  i >= first
                      && i < first + count
                      && !(isDisconnectNeeded && line.contains("CM DREQ")),
              reads);
    } catch (IOException | AssertionError e) {
      throw new AssertionError(what, e);
    }
    assertEquals(byTcp.size(), reads.size(), what);
    for (int i = 0; i < reads.size(); i++) {
      Read tcp = byTcp.get(i);
      Read read = reads.get(i);
      assertTrue(isPermitted(script, tcp, read), () -> what + ": TCP " + tcp + ", RDMA " + read);
    }
    return packets;
  }

  @Test
  void lostPacketsChangeNoEnd() throws Exception {
    Queue<List<Step>> scripts = new ConcurrentLinkedQueue<>(scripts());
    Callable<Void> task =
        () -> {
          try (Rdma rdma = new Rdma()) {
            for (List<Step> next = scripts.poll(); next != null; next = scripts.poll()) {
              compare(rdma, next);
            }
          }
          return null;
        };
    try (ExecutorService threads = Executors.newFixedThreadPool(NETWORKS)) {
      ExecutorCompletionService<Void> tasks = new ExecutorCompletionService<>(threads);
      Collections.nCopies(NETWORKS, task).forEach(tasks::submit);
      try {
        for (int i = 0; i < NETWORKS; i++) {
          Void _ = tasks.take().get();
        }
      } finally {
        threads.shutdownNow(); // What waits is not waited for when another has failed.
      }
    }
  }
}
