package dev.verbena.messages;

import static dev.verbena.messages.ConnectionSettings.DEFAULT;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertInstanceOf;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.verbena.Errno;
import dev.verbena.RdmaException;
import dev.verbena.cm.ConnectionException;
import dev.verbena.cm.Listener;
import dev.verbena.soft.Faults;
import dev.verbena.soft.InSimulation;
import dev.verbena.soft.SoftHosts;
import dev.verbena.testing.Await;
import dev.verbena.testing.Background;
import dev.verbena.testing.LoggedMessages;
import dev.verbena.values.AccessFlag;
import dev.verbena.values.AckTimeout;
import dev.verbena.verbs.MemoryRegion;
import java.lang.foreign.MemorySegment;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Random;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.FutureTask;
import java.util.logging.Level;
import java.util.logging.LogRecord;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

/**
 * A client, its device or its network does anything that it can: the other client of the server is
 * served as before, no place is kept, nothing hangs, and there is no exception that only the
 * library can be the cause of.
 */
@InSimulation
class RequestFaultsTest {
  private static final Duration SOON = Await.LIMIT;
  private static final int LIMIT = 4;
  private static final int SEEDS = 40;
  private static final ConnectionSettings SETTINGS =
      DEFAULT
          .withSends(LIMIT)
          .withMessageSize(512)
          .withTimeout(SOON)
          .withAckTimeout(AckTimeout.ofCode(10));
  private static final int[] NUMBERS = {
    0, 1, -1, LIMIT - 1, LIMIT, 64, 1 << 30, Integer.MAX_VALUE, Integer.MIN_VALUE
  };
  private static final long[] LENGTHS = {
    0, 1, 8, 4096, 4097, 1L << 31, 1L << 32, -1, Long.MAX_VALUE, Long.MIN_VALUE
  };
  private static final int[] SIZES = {0, 1, 15, 16, 17, 39, 40, 41, 528, 529, 4096};

  private final SoftHosts hosts = SoftHosts.create();
  private final ExecutorService executor = Executors.newVirtualThreadPerTaskExecutor();
  private final LoggedMessages unexpected =
      new LoggedMessages("dev.verbena", Level.WARNING, RequestFaultsTest::isUnexpected);

  /** Whether a verb that destroys an object failed. */
  private boolean leaves;

  private volatile CountDownLatch go = new CountDownLatch(0);

  /** Counts the requests under way of a client that leaves. */
  private final CountDownLatch arrived = new CountDownLatch(2);

  private RequestServer server;
  private FutureTask<Void> running;
  private RequestClient polite;

  @BeforeEach
  void open() throws Exception {
    var _ = hosts.network().addDevice("other", InetAddress.ofLiteral("192.0.2.3"));
    server =
        hosts.call(
            () ->
                RequestServer.builder(
                        new InetSocketAddress(hosts.serverAddress(), 0), Answering.by(this::answer))
                    .settings(SETTINGS)
                    .clients(2)
                    .largest(4096)
                    .executor(executor)
                    .open());
    running =
        Background.inBackground(
            () -> {
              server.run();
              return null;
            });
    polite = connect("192.0.2.3");
  }

  private int answer(MemorySegment request, MemorySegment answer) throws InterruptedException {
    if (request.byteSize() != 7) { // Those of the polite client.
      arrived.countDown();
      go.await();
    }
    return 1;
  }

  @AfterEach
  void close() {
    go.countDown();
    polite.close();
    server.close();
    executor.close();
    unexpected.close();
    if (leaves) {
      assertThrows(IllegalStateException.class, hosts::close);
    } else {
      hosts.close();
    }
  }

  /** A verb that was to fail may also fail in the server, when it destroys what a client left. */
  private static boolean isUnexpected(LogRecord record) {
    return record.getMessage().startsWith("unexpected")
        && !String.valueOf(record.getThrown()).contains("a fault that was asked for");
  }

  private RequestClient connect(String local) throws Exception {
    InetSocketAddress address = new InetSocketAddress(hosts.serverAddress(), server.port());
    InetSocketAddress from = new InetSocketAddress(InetAddress.ofLiteral(local), 0);
    return hosts.call(() -> RequestClient.connect(address, SETTINGS.withLocalAddress(from)));
  }

  private void assertServes(String after) throws Exception {
    Await.until("a free place after " + after, () -> running.isDone() || server.clients() == 1);
    if (running.isDone()) {
      running.get();
    }
    List<CompletableFuture<byte[]>> answers = new ArrayList<>();
    for (int i = 0; i < LIMIT; i++) {
      answers.add(polite.submit(new byte[7], SOON));
    }
    for (CompletableFuture<byte[]> answer : answers) {
      assertEquals(1, answer.get().length, after);
    }
    if (!after.startsWith("rdma_migrate_id")) { // The listener cannot hand over the request.
      assertEquals(List.of(), unexpected.all(), after);
    }
  }

  private static int one(int[] of, Random random) {
    return of[random.nextInt(of.length)];
  }

  /** Frames of the protocol, each field at an extreme; the last client of them is not closed. */
  @ParameterizedTest
  @ValueSource(booleans = {false, true})
  void forgedFrames(boolean vanishes) throws Exception {
    for (int seed = 0; seed < SEEDS; seed++) {
      Random random = new Random(seed);
      try (RequestPeer peer = RequestPeer.connect(hosts, server)) {
        boolean sent = true;
        for (int i = 0; i < 8 && sent; i++) {
          if (random.nextBoolean()) {
            peer.sendLarge(
                one(NUMBERS, random),
                random.nextBoolean() ? peer.memory.start() : one(NUMBERS, random),
                LENGTHS[random.nextInt(LENGTHS.length)],
                random.nextBoolean() ? peer.memory.rkey() : one(NUMBERS, random));
          } else {
            int kind = random.nextBoolean() ? RequestFrame.REQUEST : one(NUMBERS, random);
            peer.send(one(NUMBERS, random), kind, one(SIZES, random));
          }
          sent = peer.awaitSent();
        }
        if (!vanishes) {
          peer.endpoint.id().disconnect();
        }
      }
      assertServes("frames of seed " + seed);
    }
  }

  /** What a client says when it asks to connect. */
  @ParameterizedTest
  @CsvSource({"0, 512", "-1, 512", "4, 0", "4, -1", "-2147483648, -2147483648"})
  void forgedTerms(int limit, int size) throws Exception {
    byte[] terms = new RequestFrame.Terms(limit, size).toBytes();
    for (byte[] each : List.of(terms, new byte[0], new byte[] {0x56}, new byte[12])) {
      assertThrows(ConnectionException.class, () -> RequestPeer.connect(hosts, server, each));
    }
    assertServes("terms");
  }

  /** All that a client does, each call of a verb on either side failing once. */
  @ParameterizedTest
  @ValueSource(
      strings = {
        "ibv_create_comp_channel",
        "ibv_create_cq_ex",
        "ibv_create_qp_ex",
        "ibv_dereg_mr",
        "ibv_destroy_cq",
        "ibv_destroy_qp",
        "ibv_modify_qp",
        "ibv_query_qp",
        "ibv_reg_mr_iova",
        "rdma_accept",
        "rdma_connect",
        "rdma_create_id",
        "rdma_create_qp_ex",
        "rdma_disconnect",
        "rdma_init_qp_attr",
        "rdma_migrate_id",
        "rdma_reject",
        "rdma_resolve_addr",
        "rdma_resolve_route"
      })
  void failingVerbs(String function) throws Exception {
    leaves = function.contains("destroy") || function.contains("dereg");
    for (int call = 1; call <= 5; call++) {
      Faults _ = hosts.faults().fail(function, call, Errno.ENOMEM);
      try {
        live();
      } catch (RdmaException | ExecutionException e) {
        Throwable cause = e instanceof ExecutionException ? e.getCause() : e;
        assertInstanceOf(RdmaException.class, cause, function);
      }
      Faults _ = hosts.faults().none();
      assertServes(function + " " + call);
    }
  }

  private void live() throws Exception {
    MemorySegment answer = MemorySegment.ofArray(new byte[8]);
    try (RequestClient client = connect("192.0.2.1")) {
      assertEquals(1, client.call(new byte[1], SOON).length);
      MemoryRegion region =
          client.domain().allocateMemory(64, AccessFlag.LOCAL_WRITE, AccessFlag.REMOTE_READ);
      assertEquals(1, client.call(region, 0, 64, answer, SOON));
      assertEquals(1, client.submit(new byte[1], SOON).get().length);
    }
  }

  @ParameterizedTest
  @ValueSource(strings = {"kill", "remove", "lose", "close"})
  void clientLeavesWithCallsUnderWay(String how) throws Exception {
    go = new CountDownLatch(1);
    RequestClient client = connect("192.0.2.1");
    CompletableFuture<byte[]> future = client.submit(new byte[1], SOON);
    FutureTask<byte[]> call = Background.inBackground(() -> client.call(new byte[1], SOON));
    arrived.await(); // Otherwise the server has nothing to answer, and notices nothing.
    switch (how) {
      case "kill" -> hosts.faults().kill("client");
      case "remove" -> hosts.network().removeDevice("client");
      case "lose" -> hosts.faults().loseDevice("client");
      default -> client.close();
    }
    for (var each : List.of(future, call)) {
      assertThrows(ExecutionException.class, each::get);
    }
    go.countDown();
    assertServes(how);
    client.close();
  }

  /** Answers of a server that lies, and then disconnects: all calls end. */
  @ParameterizedTest
  @ValueSource(booleans = {false, true})
  void forgedAnswers(boolean dies) throws Exception {
    InetSocketAddress from = new InetSocketAddress(InetAddress.ofLiteral("192.0.2.1"), 0);
    for (int seed = 0; seed < SEEDS / 3; seed++) {
      Random random = new Random(seed);
      try (Listener listener =
          hosts.call(() -> Listener.open(new InetSocketAddress(hosts.serverAddress(), 0)))) {
        InetSocketAddress address = listener.address().orElseThrow();
        FutureTask<RequestClient> connecting =
            Background.inBackground(
                () ->
                    hosts.call(
                        () -> RequestClient.connect(address, SETTINGS.withLocalAddress(from))));
        try (RequestPeer liar = RequestPeer.accept(listener.take());
            RequestClient client = connecting.get()) {
          CompletableFuture<byte[]> future = client.submit(new byte[1], SOON);
          FutureTask<byte[]> call = Background.inBackground(() -> client.call(new byte[1], SOON));
          boolean sent = true;
          for (int i = 0; i < 8 && sent; i++) {
            int kind = random.nextBoolean() ? RequestFrame.ANSWER : one(NUMBERS, random);
            int id = random.nextBoolean() ? LIMIT + random.nextInt(3) : one(NUMBERS, random);
            liar.send(id, kind, one(SIZES, random));
            sent = liar.awaitSent();
          }
          if (dies) {
            liar.endpoint.close();
          } else {
            liar.endpoint.id().disconnect();
          }
          for (var each : List.of(future, call)) {
            try {
              assertTrue(each.get().length <= 512);
            } catch (ExecutionException e) {
              assertInstanceOf(RdmaException.class, e.getCause());
            }
          }
          Throwable ended =
              assertThrows(Exception.class, () -> client.submit(new byte[1], SOON).get());
          assertInstanceOf(
              RdmaException.class, ended instanceof ExecutionException ? ended.getCause() : ended);
        }
      }
    }
    assertServes("forged answers");
  }
}
