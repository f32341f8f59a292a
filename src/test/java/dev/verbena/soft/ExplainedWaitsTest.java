package dev.verbena.soft;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.verbena.address.AddressVector;
import dev.verbena.address.GlobalRoute;
import dev.verbena.address.QueuePairAddress;
import dev.verbena.efa.EfaDevice;
import dev.verbena.internal.time.Time;
import dev.verbena.soft.transport.SoftQueuePair;
import dev.verbena.testing.Await;
import dev.verbena.values.AccessFlag;
import dev.verbena.values.CompletionStatus;
import dev.verbena.values.QueuePairCapacity;
import dev.verbena.values.QueuePairType;
import dev.verbena.values.SendOperation;
import dev.verbena.verbs.Context;
import dev.verbena.verbs.MemoryRegion;
import dev.verbena.verbs.Posting;
import dev.verbena.verbs.ProtectionDomain;
import dev.verbena.verbs.QueuePair;
import dev.verbena.verbs.ReceiveList;
import dev.verbena.verbs.SendList;
import dev.verbena.verbs.SendRequest;
import java.net.InetAddress;
import java.util.List;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.logging.Handler;
import java.util.logging.LogRecord;
import java.util.logging.Logger;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

/** Mistakes by which requests never end, and of which a device says nothing. */
@Tag("host")
class ExplainedWaitsTest {
  private static final Logger LOGGER = Logger.getLogger(SoftQueuePair.class.getName());

  private boolean isBroken;
  private final List<String> logged = new CopyOnWriteArrayList<>();
  private final Handler handler =
      new Handler() {
        @Override
        public void publish(LogRecord line) {
          logged.add(line.getMessage());
          if (isBroken) {
            throw new IllegalStateException("for the test");
          }
        }

        @Override
        public void flush() {
          // Nothing is kept.
        }

        @Override
        public void close() {
          // Nothing is open.
        }
      };

  @BeforeEach
  void listen() {
    LOGGER.addHandler(handler);
    LOGGER.setUseParentHandlers(false);
  }

  @AfterEach
  void leave() {
    LOGGER.removeHandler(handler);
    LOGGER.setUseParentHandlers(true);
  }

  @Test
  @InSimulation
  void aPeerWithoutAReceiveRequestIsExplainedOnceAfterASecond() throws Exception {
    try (SoftPair pair = SoftPair.connected()) {
      send(pair);
      Time.sleep(500_000_000);
      assertEquals(List.of(), logged);
      Time.sleep(5_000_000_000L);
      assertEquals(1, logged.size(), logged::toString);
      String line = logged.getFirst();
      assertTrue(line.startsWith("queue pair 0x" + hex(pair)), line);
      assertTrue(line.contains(" of soft0: the peer has no receive request (RNR)"), line);
      receive(pair);
    }
  }

  @Test
  void aSendQueueThatIsFullOfUnsignaledRequestsIsExplainedOnce() throws Exception {
    try (SoftPair pair = SoftPair.connected()) {
      SendList writes = new SendList(1, 1);
      writes
          .write(0)
          .local(pair.a.region, 0, 8)
          .remote(pair.b.region.start(), pair.b.region.rkey());
      Await.until("an explanation", () -> pair.a.queuePair.post(writes) == 0 && !logged.isEmpty());
      assertEquals(0, pair.a.queuePair.post(writes));
      assertEquals(1, logged.size(), logged::toString);
      String line = logged.getFirst();
      assertTrue(
          line.startsWith("queue pair 0x" + hex(pair) + " of soft0: the send queue is"), line);
    }
  }

  @Test
  void aSendQueueThatIsFilledOneByOneIsExplained() throws Exception {
    try (SoftPair pair = SoftPair.connected();
        QueuePair extended =
            QueuePair.builder(pair.a.domain, QueuePairType.RC)
                .completions(pair.a.completions)
                .capacity(QueuePairCapacity.of(4))
                .sendOperations(SendOperation.RDMA_WRITE)
                .create()) {
      extended.connect(extended.localAddress());
      Await.until("an explanation", () -> !write(pair, extended) && !logged.isEmpty());
      assertFull(extended);
    }
  }

  private static boolean write(SoftPair pair, QueuePair extended) {
    try (Posting posting = extended.startPosting()) {
      posting.write(pair.a.region.start(), pair.a.region.rkey()).local(pair.a.region, 0, 8);
      return posting.complete() == 1;
    }
  }

  private void assertFull(QueuePair queuePair) {
    assertEquals(1, logged.size(), logged::toString);
    String line = logged.getFirst();
    assertTrue(line.startsWith("queue pair 0x" + hex(queuePair) + " of "), line);
    assertTrue(line.contains(": the send queue is full of requests"), line);
  }

  @Test
  @InSimulation
  void aPeerOfSrdWithoutAReceiveRequestIsExplained() throws Exception {
    try (SoftNetwork network = SoftNetwork.create().profile("efa");
        SrdEnd a = new SrdEnd(network, 1);
        SrdEnd b = new SrdEnd(network, 2)) {
      SendList sends = new SendList(1, 1, 0);
      a.to(b, sends.send(0));
      assertEquals(1, a.queuePair.post(sends));
      Time.sleep(500_000_000);
      assertEquals(List.of(), logged);
      Time.sleep(5_000_000_000L);
      assertEquals(1, logged.size(), logged::toString);
      assertTrue(logged.getFirst().contains("the peer has no receive request (RNR)"));
    }
  }

  /** One of two SRD queue pairs, which repeats sends without end. */
  private static final class SrdEnd implements AutoCloseable {
    private final Context context;
    private final ProtectionDomain domain;
    private final MemoryRegion region;
    private final QueuePair queuePair;

    SrdEnd(SoftNetwork network, int host) {
      context = network.addDevice("soft" + host, InetAddress.ofLiteral("192.0.2." + host)).open();
      domain = context.allocateProtectionDomain();
      region = domain.allocateMemory(64, AccessFlag.LOCAL_WRITE, AccessFlag.REMOTE_WRITE);
      EfaDevice efa = EfaDevice.of(context);
      queuePair =
          efa.queuePair(domain)
              .completions(efa.createCompletionQueue(context.completionQueue(8)).queue())
              .capacity(QueuePairCapacity.of(4))
              .create();
      queuePair.setup().rnrRetryCount(7);
      queuePair.activate();
    }

    void to(SrdEnd peer, SendRequest request) {
      QueuePairAddress address = peer.queuePair.localAddress();
      request
          .local(region, 0, 8)
          .to(
              domain.createAddressHandle(
                  AddressVector.global(1, new GlobalRoute(address.gid(), 0))),
              address.number(),
              address.queueKey());
    }

    @Override
    public void close() {
      context.close();
    }
  }

  @Test
  @InSimulation
  void aHandlerThatThrowsFailsNoRequest() throws Exception {
    isBroken = true;
    try (SoftPair pair = SoftPair.connected()) {
      send(pair);
      Time.sleep(3_000_000_000L);
      assertEquals(1, logged.size(), logged::toString);
      receive(pair);
    }
  }

  /** A queue pair without sends has a queue of no slots. */
  @Test
  void aQueuePairWithoutASendQueueIsNotExplained() throws Exception {
    try (SoftPair pair = SoftPair.connected();
        QueuePair receiver =
            QueuePair.builder(pair.a.domain, QueuePairType.RC)
                .completions(pair.a.completions)
                .capacity(QueuePairCapacity.of(0).withReceiveRequests(1))
                .create()) {
      receiver.connect(receiver.localAddress());
      SendList sends = new SendList(1, 1);
      sends.send(0);
      assertEquals(0, receiver.post(sends));
      assertEquals(List.of(), logged);
    }
  }

  /** Completions that wait make room when they are polled. */
  @Test
  void aSendQueueWhoseCompletionsAreNotPolledIsNotExplained() throws Exception {
    try (SoftPair pair = SoftPair.connected()) {
      SendList writes = new SendList(1, 1);
      writes
          .write(0)
          .local(pair.a.region, 0, 8)
          .remote(pair.b.region.start(), pair.b.region.rkey());
      writes.signaled(0);
      while (pair.a.queuePair.post(writes) > 0) {
        // Until it is full.
      }
      new SoftInternals(pair.network).settle();
      assertEquals(0, pair.a.queuePair.post(writes));
      assertEquals(List.of(), logged);
      assertEquals(CompletionStatus.SUCCESS, pair.completion());
      assertEquals(1, pair.a.queuePair.post(writes));
    }
  }

  private static void send(SoftPair pair) {
    SendList sends = new SendList(1, 1);
    sends.send(0).local(pair.a.region, 0, 8).signaled();
    assertEquals(1, pair.a.queuePair.post(sends));
  }

  /** The send of the other end succeeds then. */
  private static void receive(SoftPair pair) {
    ReceiveList receives = new ReceiveList(1, 1);
    receives.local(0, pair.b.region, 0, 8);
    assertEquals(1, pair.b.queuePair.post(receives));
    assertEquals(CompletionStatus.SUCCESS, pair.completion());
  }

  private static String hex(SoftPair pair) {
    return hex(pair.a.queuePair);
  }

  private static String hex(QueuePair queuePair) {
    return Integer.toHexString(queuePair.number());
  }
}
