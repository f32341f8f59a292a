package dev.verbena.verbs;

import static dev.verbena.testing.CheckedTraffic.COMPLETIONS;
import static dev.verbena.testing.DeviceKind.MLX5;
import static dev.verbena.testing.DeviceKind.SOFTWARE;

import dev.verbena.address.QueuePairAddress;
import dev.verbena.testing.CheckedTraffic;
import dev.verbena.testing.CheckedTraffic.Disturbance;
import dev.verbena.testing.CheckedTraffic.Operation;
import dev.verbena.testing.DeviceTest;
import dev.verbena.testing.On;
import dev.verbena.testing.Rig;
import dev.verbena.values.AccessFlag;
import dev.verbena.values.CompletionField;
import dev.verbena.values.QueuePairCapacity;
import dev.verbena.values.QueuePairType;
import dev.verbena.values.SendOperation;
import java.lang.foreign.Arena;
import java.util.EnumSet;
import java.util.List;
import java.util.Set;

/**
 * Queues that are full all the time: threads post, others poll, and some disturb them. {@code
 * -Dverbena.posters=COUNT} multiplies the requests.
 */
class PostersAndPollersTest {
  private static final int DEPTH = 4;

  /** A multiple of the numbers below, for a long run. */
  private static final int TIMES = Integer.getInteger("verbena.posters", 1);

  private static final int REQUESTS = 300 * TIMES;
  private static final int ROUNDS = 6 * TIMES;
  private static final int IN_ROUND = 200;
  private static final List<Operation> MESSAGES = List.of(Operation.SEND, Operation.SEND_IMM);
  private static final List<Operation> WITH_WRITES =
      List.of(Operation.SEND, Operation.SEND_IMM, Operation.WRITE_IMM);
  private static final List<Operation> WRITES = List.of(Operation.WRITE);
  private static final List<Operation> ONE_SIDED =
      List.of(Operation.WRITE, Operation.READ, Operation.FETCH_ADD);
  private static final SendOperation[] POSTED =
      EnumSet.range(SendOperation.RDMA_WRITE, SendOperation.ATOMIC_FETCH_AND_ADD)
          .toArray(SendOperation[]::new);

  /** The two ends of a row. */
  private enum Kind {
    RC,
    UC,
    UD,
    SRQ,
    XRC
  }

  /** A row of the table. */
  private record Row(
      Kind kind,
      List<Operation> operations,
      boolean posting,
      boolean extended,
      boolean everySignaled,
      int posters) {}

  @DeviceTest
  void reliableConnections() throws Exception {
    each(Kind.RC, WITH_WRITES);
    each(Kind.RC, ONE_SIDED);
  }

  @DeviceTest
  void unreliableConnections() throws Exception {
    each(Kind.UC, WITH_WRITES);
    each(Kind.UC, WRITES);
  }

  @DeviceTest
  void datagrams() throws Exception {
    each(Kind.UD, MESSAGES);
  }

  @DeviceTest
  void sharedReceiveQueues() throws Exception {
    each(Kind.SRQ, WITH_WRITES);
  }

  @DeviceTest
  @On(
      value = {SOFTWARE, MLX5},
      reason = "Soft-RoCE has no XRC")
  void extendedReliableConnections() throws Exception {
    try (Context context = Rig.a().open()) {
      Rig.orSkip(() -> XrcDomain.open(context));
    }
    each(Kind.XRC, WITH_WRITES);
    each(Kind.XRC, ONE_SIDED);
  }

  @DeviceTest
  void failBetween() throws Exception {
    for (Kind kind : Set.of(Kind.RC, Kind.UC)) {
      disturbed(kind, Disturbance.FAIL);
    }
  }

  @DeviceTest
  void resetBetween() throws Exception {
    for (Kind kind : Set.of(Kind.RC, Kind.UC, Kind.SRQ)) {
      disturbed(kind, Disturbance.RESET);
    }
  }

  @DeviceTest
  void closeBetween() throws Exception {
    for (Kind kind : Set.of(Kind.RC, Kind.UC, Kind.SRQ)) {
      disturbed(kind, Disturbance.CLOSE);
    }
  }

  private static int requests() {
    return isSlow() ? REQUESTS / 5 : REQUESTS;
  }

  private static int rounds() {
    return isSlow() ? ROUNDS / 3 : ROUNDS;
  }

  /** The kernel of an emulated machine takes milliseconds for each request. */
  private static boolean isSlow() {
    return !Rig.isSoftware() && System.getenv("VERBENA_NIC") == null;
  }

  private static void each(Kind kind, List<Operation> operations) throws Exception {
    for (boolean posting : new boolean[] {false, true}) {
      for (boolean extended : new boolean[] {false, true}) {
        for (int posters = 1; posters <= 2; posters++) {
          boolean everySignaled = posters == 2 || !extended;
          run(
              new Row(kind, operations, posting, extended, everySignaled, posters),
              Disturbance.NONE,
              requests());
        }
      }
    }
  }

  private static void disturbed(Kind kind, Disturbance disturbance) throws Exception {
    for (int i = 0; i < rounds(); i++) {
      List<Operation> operations = i % 2 == 0 || kind == Kind.SRQ ? WITH_WRITES : WRITES;
      run(new Row(kind, operations, i % 3 == 2, i % 5 == 4, i % 4 < 2, 1), disturbance, IN_ROUND);
    }
  }

  private static void run(Row row, Disturbance disturbance, int requests) throws Exception {
    try (Arena arena = Arena.ofShared();
        Context a = Rig.a().open();
        Context b = Rig.b().open()) {
      CheckedTraffic.run(setting(row, a, b, arena), disturbance, requests);
    } catch (AssertionError e) {
      throw new AssertionError(row + ", " + disturbance, e);
    }
  }

  private static CheckedTraffic.Setting setting(Row row, Context a, Context b, Arena arena) {
    ProtectionDomain ofA = a.allocateProtectionDomain();
    ProtectionDomain ofB = b.allocateProtectionDomain();
    CompletionQueue sent = queue(row, a);
    CompletionQueue received = queue(row, b);
    XrcDomain domain = row.kind == Kind.XRC ? XrcDomain.open(b) : null;
    SharedReceiveQueue shared =
        switch (row.kind) {
          case SRQ -> SharedReceiveQueue.create(ofB, DEPTH);
          case XRC -> SharedReceiveQueue.builder(ofB, DEPTH).xrc(domain, received).create();
          default -> null;
        };
    QueuePairBuilder sender = builder(row, ofA).completions(sent);
    if (row.posting) {
      sender.sendOperations(operations(row));
    }
    QueuePair from = sender.create();
    QueuePairBuilder receiver = builder(row, ofB).completions(received);
    if (row.kind == Kind.SRQ) {
      receiver.sharedReceiveQueue(shared);
    }
    QueuePair to = domain == null ? receiver.create() : QueuePair.builder(domain).create();
    AddressHandle handle = null;
    if (from.type().isConnected()) {
      QueuePairAddress remote = to.localAddress();
      to.connect(from.localAddress());
      from.connect(remote);
    } else {
      from.activate();
      to.activate();
      handle = ofA.createAddressHandle(from.setup().pathTo(to.localAddress()));
    }
    return new CheckedTraffic.Setting(
        from,
        sent,
        memory(ofA, arena),
        to,
        shared == null ? to : shared,
        received,
        memory(ofB, arena),
        handle,
        domain == null ? -1 : shared.number(),
        row.operations,
        row.posters,
        row.posting,
        row.everySignaled);
  }

  private static SendOperation[] operations(Row row) {
    return switch (row.kind) {
      case UD -> new SendOperation[] {SendOperation.SEND, SendOperation.SEND_WITH_IMM};
      case UC ->
          new SendOperation[] {
            SendOperation.SEND,
            SendOperation.SEND_WITH_IMM,
            SendOperation.RDMA_WRITE,
            SendOperation.RDMA_WRITE_WITH_IMM
          };
      default -> POSTED;
    };
  }

  private static CompletionQueue queue(Row row, Context context) {
    CompletionQueue.Builder builder = context.completionQueue(COMPLETIONS);
    return row.extended ? builder.createExtended(CompletionField.BYTE_LEN) : builder.create();
  }

  private static QueuePairBuilder builder(Row row, ProtectionDomain domain) {
    QueuePairBuilder builder =
        switch (row.kind) {
          case RC, SRQ -> QueuePair.builder(domain, QueuePairType.RC);
          case UC -> QueuePair.builder(domain, QueuePairType.UC);
          case UD -> QueuePair.builder(domain, QueuePairType.UD);
          case XRC -> QueuePair.builder(domain, QueuePairType.XRC_SEND);
        };
    return builder.capacity(QueuePairCapacity.of(DEPTH));
  }

  private static MemoryRegion memory(ProtectionDomain domain, Arena arena) {
    return domain.registerMemory(
        arena.allocate(CheckedTraffic.MEMORY, 4096),
        AccessFlag.LOCAL_WRITE,
        AccessFlag.REMOTE_WRITE,
        AccessFlag.REMOTE_READ,
        AccessFlag.REMOTE_ATOMIC);
  }
}
