package dev.verbena.soft;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.verbena.address.AddressVector;
import dev.verbena.address.GlobalRoute;
import dev.verbena.address.QueuePairAddress;
import dev.verbena.testing.Await;
import dev.verbena.values.AccessFlag;
import dev.verbena.values.CompletionStatus;
import dev.verbena.values.QueuePairCapacity;
import dev.verbena.values.QueuePairType;
import dev.verbena.verbs.AddressHandle;
import dev.verbena.verbs.CompletionQueue;
import dev.verbena.verbs.Completions;
import dev.verbena.verbs.Context;
import dev.verbena.verbs.MemoryRegion;
import dev.verbena.verbs.ProtectionDomain;
import dev.verbena.verbs.QueuePair;
import dev.verbena.verbs.QueuePairBuilder;
import dev.verbena.verbs.ReceiveList;
import dev.verbena.verbs.SendList;
import dev.verbena.verbs.SharedReceiveQueue;
import java.lang.foreign.ValueLayout;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.EnumSource;

/**
 * The rules of the strict device for the services beside plain RC: a shared receive queue, UC and
 * UD.
 */
@Tag("host")
class StrictServicesTest {
  /** How messages are sent and received. */
  enum Service {
    RC_WITH_SRQ(QueuePairType.RC, 0),
    UC(QueuePairType.UC, 0),
    /** A datagram follows the 40 bytes of the global routing header. */
    UD(QueuePairType.UD, 40);

    private final QueuePairType type;
    private final int header;

    Service(QueuePairType type, int header) {
      this.type = type;
      this.header = header;
    }
  }

  private static final int CAPACITY = 4;
  private static final int ROUNDS = 200;

  private final SoftNetwork network = SoftNetwork.create();
  private final Context sender = network.addDevice("soft0").open();
  private final Context receiver = network.addDevice("soft1").open();
  private final CompletionQueue sent = sender.createCompletionQueue(64);
  private final CompletionQueue received = receiver.createCompletionQueue(64);
  private final MemoryRegion source = memory(sender.allocateProtectionDomain());
  private final MemoryRegion target = memory(receiver.allocateProtectionDomain());
  private SharedReceiveQueue shared;
  private QueuePair a;
  private QueuePair b;
  private AddressHandle handle;

  @AfterEach
  void close() {
    sender.close();
    receiver.close();
    network.close();
  }

  private static MemoryRegion memory(ProtectionDomain domain) {
    return domain.allocateMemory(4096, AccessFlag.LOCAL_WRITE);
  }

  private void connect(Service service) {
    QueuePairCapacity capacity = QueuePairCapacity.of(CAPACITY);
    a =
        QueuePair.builder(source.domain(), service.type)
            .completions(sent)
            .capacity(capacity)
            .create();
    QueuePairBuilder builder =
        QueuePair.builder(target.domain(), service.type).completions(received).capacity(capacity);
    if (service == Service.RC_WITH_SRQ) {
      shared = SharedReceiveQueue.builder(target.domain(), CAPACITY).create();
      builder.sharedReceiveQueue(shared);
    }
    b = builder.create();
    if (service == Service.UD) {
      a.activate();
      b.activate();
      QueuePairAddress address = b.localAddress();
      GlobalRoute route = new GlobalRoute(address.gid(), 0);
      handle = source.domain().createAddressHandle(AddressVector.global(1, route));
    } else {
      QueuePairAddress address = b.localAddress();
      b.connect(a.localAddress());
      a.connect(address);
    }
  }

  private int receive(int count) {
    ReceiveList receives = new ReceiveList(count, 1);
    for (int i = 0; i < count; i++) {
      receives.local(i, target, 0, 64);
    }
    return shared == null ? b.post(receives) : shared.post(receives);
  }

  private int send(int count, boolean signaled) {
    SendList sends = new SendList(count, 1);
    for (int i = 0; i < count; i++) {
      sends.send(i).local(source, 0, 4);
      if (handle != null) {
        sends.to(i, handle, b.localAddress().number(), b.localAddress().queueKey());
      }
      if (signaled) {
        sends.signaled(i);
      }
    }
    return a.post(sends);
  }

  private static void awaitSuccess(CompletionQueue queue) {
    assertEquals(CompletionStatus.SUCCESS, SoftPair.await(queue));
  }

  /** The completion at the sender does not say that the message is in memory. */
  @ParameterizedTest
  @CsvSource({
    "RC_WITH_SRQ, false",
    "RC_WITH_SRQ, true",
    "UC, false",
    "UC, true",
    "UD, false",
    "UD, true"
  })
  void aReceiveBufferIsReadTooEarly(Service service, boolean strict) {
    connect(service);
    if (strict) {
      Faults _ = network.faults().seed(11).strict();
    }
    int early = 0;
    for (int i = 1; i <= ROUNDS; i++) {
      assertEquals(1, receive(1));
      source.memory().set(ValueLayout.JAVA_INT, 0, i);
      assertEquals(1, send(1, true));
      awaitSuccess(sent);
      early += target.memory().get(ValueLayout.JAVA_INT, service.header) == i ? 0 : 1;
      awaitSuccess(received);
      assertEquals(i, target.memory().get(ValueLayout.JAVA_INT, service.header));
    }
    assertEquals(strict, early > 0, early + " times");
  }

  @ParameterizedTest
  @EnumSource(Service.class)
  void aSendBufferIsChangedTooEarly(Service service) {
    connect(service);
    Faults _ = network.faults().seed(11).strict();
    int changed = 0;
    for (int i = 1; i <= ROUNDS; i++) {
      assertEquals(1, receive(1));
      source.memory().set(ValueLayout.JAVA_INT, 0, i);
      assertEquals(1, send(1, true));
      source.memory().set(ValueLayout.JAVA_INT, 0, -1);
      awaitSuccess(received);
      awaitSuccess(sent);
      changed += target.memory().get(ValueLayout.JAVA_INT, service.header) == i ? 0 : 1;
    }
    assertTrue(changed > 0, "each message was sent as soon as it was posted");
  }

  @ParameterizedTest
  @EnumSource(Service.class)
  void unsignaledRequestsFillAQueueForEver(Service service) {
    connect(service);
    assertEquals(CAPACITY, receive(CAPACITY));
    assertEquals(CAPACITY, send(CAPACITY, false));
    for (int i = 0; i < CAPACITY; i++) {
      awaitSuccess(received);
    }
    assertEquals(0, sent.poll(new Completions(1)));
    assertEquals(0, send(1, true));
  }

  @ParameterizedTest
  @EnumSource(Service.class)
  void aReceiveKeepsItsSlotUntilItsCompletionIsPolled(Service service) {
    connect(service);
    assertEquals(CAPACITY, receive(CAPACITY + 1));
    source.memory().set(ValueLayout.JAVA_INT, 0, 7);
    assertEquals(1, send(1, true));
    awaitSuccess(sent);
    Await.until(
        "the message", () -> target.memory().get(ValueLayout.JAVA_INT, service.header) == 7);
    assertEquals(0, receive(1));
    awaitSuccess(received);
    assertEquals(1, receive(2));
  }

  /** Datagrams that were sent later may arrive before. */
  @ParameterizedTest
  @CsvSource({"false", "true"})
  void datagramsAreExpectedInOrder(boolean strict) {
    connect(Service.UD);
    if (strict) {
      Faults _ = network.faults().seed(11).strict();
    }
    int passed = 0;
    for (int i = 0; i < ROUNDS; i++) {
      passed += firstOfTwo() == 1 ? 0 : 1;
    }
    assertEquals(strict, passed > 0, passed + " times");
  }

  /** Sends 1 and 2, and returns what arrives first. */
  private int firstOfTwo() {
    ReceiveList receives = new ReceiveList(2, 1);
    receives.local(0, target, 0, 64);
    receives.local(1, target, 64, 64);
    assertEquals(2, b.post(receives));
    SendList sends = new SendList(2, 1);
    for (int i = 0; i < 2; i++) {
      source.memory().set(ValueLayout.JAVA_INT, 8L * i, i + 1);
      sends.send(i).local(source, 8L * i, 4);
      sends.to(i, handle, b.localAddress().number(), b.localAddress().queueKey());
      sends.signaled(i);
    }
    assertEquals(2, a.post(sends));
    for (int i = 0; i < 2; i++) {
      awaitSuccess(received);
      awaitSuccess(sent);
    }
    return target.memory().get(ValueLayout.JAVA_INT, 40);
  }
}
