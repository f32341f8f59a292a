package dev.verbena.simulated;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.verbena.address.Mtu;
import dev.verbena.address.QueuePairAddress;
import dev.verbena.efa.EfaDevice;
import dev.verbena.simulated.RequestHistory.Path;
import dev.verbena.simulated.SentRequest.Kind;
import dev.verbena.soft.Faults;
import dev.verbena.soft.Simulation;
import dev.verbena.soft.SoftNetwork;
import dev.verbena.values.AccessFlag;
import dev.verbena.values.AckTimeout;
import dev.verbena.values.CompletionStatus;
import dev.verbena.values.MemoryWindowType;
import dev.verbena.values.QueuePairCapacity;
import dev.verbena.values.QueuePairType;
import dev.verbena.values.RnrTimer;
import dev.verbena.verbs.AddressHandle;
import dev.verbena.verbs.Completions;
import dev.verbena.verbs.MemoryRegion;
import dev.verbena.verbs.MemoryWindow;
import dev.verbena.verbs.QueuePair;
import dev.verbena.verbs.QueuePairBuilder;
import dev.verbena.verbs.ReceiveList;
import dev.verbena.verbs.SendList;
import dev.verbena.verbs.SendRequest;
import dev.verbena.verbs.SharedReceiveQueue;
import dev.verbena.verbs.WindowBinding;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Set;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.condition.EnabledForJreRange;

/** Histories of send requests over RC and SRD, whatever happens meanwhile. */
@Tag("host")
@EnabledForJreRange(minVersion = 24)
class QueuePairScenariosTest {
  private static final Kind[] KINDS = Kind.values();

  private static final Kind[] UNRELIABLE = {
    Kind.SEND, Kind.SEND_IMMEDIATE, Kind.WRITE, Kind.WRITE_IMMEDIATE
  };

  @Test
  void requestsOverReliableConnections() {
    Simulation.check(
        Seeds.of(60), simulation -> new Connections(simulation, QueuePairType.RC).run());
  }

  @Test
  void requestsOverUnreliableConnections() {
    Simulation.check(
        Seeds.of(60), simulation -> new Connections(simulation, QueuePairType.UC).run());
  }

  @Test
  void requestsOverUnreliableDatagrams() {
    Simulation.check(Seeds.of(60), simulation -> new Datagrams(simulation, QueuePairType.UD).run());
  }

  @Test
  void requestsOverScalableReliableDatagrams() {
    Simulation.check(
        Seeds.of(30), simulation -> new Datagrams(simulation, QueuePairType.SRD).run());
  }

  static final class Connections extends VerbsScenario {
    private static final AccessFlag[] ACCESS = {
      AccessFlag.REMOTE_WRITE, AccessFlag.REMOTE_READ, AccessFlag.REMOTE_ATOMIC
    };

    private final SharedReceiveQueue shared;

    /** What RDMA writes are for, if not for memory windows. */
    private final MemoryRegion target;

    private final boolean usesWindows = random.nextInt(3) == 0;
    private int bound;

    private final QueuePairType type;

    Connections(Simulation simulation, QueuePairType type) throws InterruptedException {
      super(simulation, SoftNetwork.create(), 1 + simulation.random().nextInt(8), type);
      this.type = type;
      shared =
          random.nextInt(3) == 0
              ? SharedReceiveQueue.builder(b.domain, receiveDepth * width).create()
              : null;
      target =
          b.domain.registerMemory(
              b.memory, AccessFlag.LOCAL_WRITE, AccessFlag.REMOTE_WRITE, AccessFlag.MW_BIND);
      for (int i = 0; i < width; i++) {
        connect();
      }
    }

    private void connect() throws InterruptedException {
      QueuePairBuilder builder =
          QueuePair.builder(b.domain, type)
              .completions(b.completions)
              .capacity(QueuePairCapacity.of(receiveDepth).withSendRequests(2));
      if (shared != null) {
        builder.sharedReceiveQueue(shared);
      }
      QueuePair server = builder.create();
      QueuePair client =
          QueuePair.builder(a.domain, type)
              .completions(a.completions)
              .capacity(QueuePairCapacity.of(depth))
              .create();
      Mtu mtu = random.nextBoolean() ? Mtu.MTU_256 : Mtu.MTU_512;
      int reads = 1 + random.nextInt(4);
      for (QueuePair queuePair : List.of(server, client)) {
        var _ =
            queuePair
                .setup()
                .access(ACCESS)
                .mtu(mtu)
                .reads(reads)
                .psn(random.nextBoolean() ? 0xff_ffff - random.nextInt(20) : random.nextInt(99))
                .ackTimeout(AckTimeout.ofCode(8 + random.nextInt(6)))
                .minRnrTimer(RnrTimer.ofCode(1 + random.nextInt(14)))
                .retryCount(isCalm ? 7 : random.nextInt(8))
                .rnrRetryCount(isCalm ? 7 : random.nextInt(8));
      }
      connect(client, server);
      paths.add(new Path(client, server, target));
    }

    private static void connect(QueuePair client, QueuePair server) {
      QueuePairAddress address = server.localAddress();
      server.connect(client.localAddress());
      client.connect(address);
    }

    /**
     * Resets the queue pairs, and connects them anew: their queues take as many requests as they
     * were created for, which all succeed.
     */
    @Override
    void recover() throws InterruptedException {
      // All first: their completion queues have no completion of before the reset any more.
      List<Path> left = new ArrayList<>();
      for (Path path : paths) {
        boolean hasServer = ignoreClosed(path.b::reset);
        if (ignoreClosed(path.a::reset) && hasServer) {
          left.add(path);
        }
      }
      for (Path path : left) {
        var _ = path.a.setup().rnrRetryCount(7).retryCount(7);
        var _ = path.b.setup().minRnrTimer(RnrTimer.ofCode(20));
        connect(path.a, path.b);
        receive(path);
        send(path);
      }
    }

    /** Fills the receive queue. */
    private void receive(Path path) {
      int most = receiveDepth * width;
      ReceiveList list = new ReceiveList(most + 1, 0);
      int posted = shared == null ? path.b.post(list) : shared.post(list);
      assertEquals(shared == null ? receiveDepth : Math.min(posted, most), posted);
    }

    /** Fills the send queue with messages, for each of which there is a receive. */
    private void send(Path path) throws InterruptedException {
      int receives = shared == null ? depth : depth * width;
      for (int left = receives; left > 0; left -= depth) {
        SendList list = new SendList(depth + 1, 0);
        for (int i = 0; i <= depth; i++) {
          list.send(i).signaled();
        }
        assertEquals(depth, path.a.post(list));
        awaitSuccesses(a, depth);
      }
      awaitSuccesses(b, receives);
    }

    private void awaitSuccesses(End end, int count) throws InterruptedException {
      Completions completions = new Completions(count);
      int[] polled = {0};
      await(
          "a request after the reset does not complete",
          () -> {
            int some = end.completions.poll(completions, count - polled[0]);
            for (int i = 0; i < some; i++) {
              assertTrue(completions.isSuccess(i), completions.describe(i));
            }
            polled[0] += some;
            return polled[0] == count;
          });
    }

    @Override
    SharedReceiveQueue shared() {
      return shared;
    }

    @Override
    Kind kind() {
      Kind[] kinds = type == QueuePairType.RC ? KINDS : UNRELIABLE;
      return kinds[random.nextInt(kinds.length)];
    }

    @Override
    int maxLength(Kind kind) {
      return random.nextBoolean() ? 64 : 1024;
    }

    /** A message that is longer fails the queue pair: this is for UC, as RC fails both. */
    @Override
    int receiveLength() {
      boolean isShort = type == QueuePairType.UC && !isCalm && random.nextInt(30) == 0;
      return isShort ? 1 + random.nextInt(1024) : super.receiveLength();
    }

    @Override
    void address(Path path, SentRequest request, SendRequest formatted) {}

    @Override
    void begin() throws InterruptedException {
      if (!usesWindows) {
        return;
      }
      for (Path path : paths) {
        MemoryWindow window = MemoryWindow.allocate(b.domain, MemoryWindowType.TYPE_2);
        path.targetKey = MemoryWindow.nextKey(window.rkey());
        WindowBinding binding =
            new WindowBinding(target, 0, target.length(), Set.of(AccessFlag.REMOTE_WRITE));
        SendList list = new SendList(1, 1);
        list.bindMemoryWindow(0, window, path.targetKey, binding).id(-1).signaled();
        assertEquals(1, path.b.post(list));
        while (bound == 0) {
          pause(random, 10);
        }
        bound = 0;
        window.bound(path.b, path.targetKey, target);
      }
    }

    @Override
    void completedAtB(long id, CompletionStatus status) {
      if (id == -1) {
        assertEquals(CompletionStatus.SUCCESS, status);
        bound++;
      } else if (status == CompletionStatus.SUCCESS) {
        history.targetEnded(paths.get((int) -id - 2));
      }
    }

    @Override
    void disturb() throws InterruptedException {
      int index = random.nextInt(width);
      Path path = paths.get(index);
      Faults faults = network.faults();
      switch (random.nextInt(15)) {
        case 0 -> ignoreClosed(path.a::fail);
        case 1 -> ignoreClosed(path.b::fail);
        case 2 -> {
          path.a.reset();
          path.isDiscardedAtA = true;
        }
        case 3 -> {
          path.b.reset();
          path.isDiscardedAtB = true;
        }
        case 4 -> {
          path.a.close();
          path.isDiscardedAtA = true;
        }
        case 5 -> {
          path.b.close();
          path.isDiscardedAtB = true;
        }
        case 6 -> network.removeDevice(random.nextBoolean() ? "a" : "b");
        case 7 -> faults.kill(random.nextBoolean() ? "a" : "b");
        case 8, 9, 10, 11 -> faults.disturb(random, Duration.ofMillis(200));
        default -> endTarget(index);
      }
    }

    private void endTarget(int index) {
      if (usesWindows) {
        SendList list = new SendList(1, 1);
        list.localInvalidate(0, paths.get(index).targetKey).id(-2 - index).signaled();
        assertEquals(1, paths.get(index).b.post(list));
      } else {
        target.close();
        paths.forEach(history::targetEnded);
      }
    }
  }

  static final class Datagrams extends VerbsScenario {
    private static final Kind[] KINDS = {
      Kind.SEND, Kind.SEND_IMMEDIATE, Kind.WRITE, Kind.WRITE_IMMEDIATE, Kind.READ, Kind.READ_NUMBER
    };

    private final QueuePairType type;
    private final AddressHandle handle;
    private final int queueKey;

    Datagrams(Simulation simulation, QueuePairType type) {
      super(
          simulation,
          type == QueuePairType.SRD ? SoftNetwork.create().profile("efa") : SoftNetwork.create(),
          1 + simulation.random().nextInt(8),
          type);
      this.type = type;
      for (int i = 0; i < width; i++) {
        paths.add(new Path(create(a), create(b), b.region));
      }
      Path path = paths.getFirst();
      handle = handle(path.a, path.b);
      queueKey = path.b.localAddress().queueKey();
      AddressHandle _ = handle(path.b, path.a);
    }

    private QueuePair create(End end) {
      QueuePairBuilder builder =
          type == QueuePairType.SRD
              ? EfaDevice.of(end.context).queuePair(end.domain)
              : QueuePair.builder(end.domain, type);
      QueuePair queuePair =
          builder
              .completions(end.completions)
              .capacity(QueuePairCapacity.of(depth).withReceiveRequests(receiveDepth))
              .create();
      queuePair.setup().rnrRetryCount(isCalm ? 7 : random.nextInt(8));
      queuePair.activate();
      return queuePair;
    }

    private static AddressHandle handle(QueuePair from, QueuePair to) {
      return from.domain().createAddressHandle(from.setup().pathTo(to.localAddress()));
    }

    @Override
    Kind kind() {
      return KINDS[random.nextInt(type == QueuePairType.SRD ? KINDS.length : 2)];
    }

    @Override
    int receiveLength() {
      boolean isShort = type == QueuePairType.UD && !isCalm && random.nextInt(4) == 0;
      return isShort ? 1 + random.nextInt(1024) : super.receiveLength();
    }

    @Override
    int maxLength(Kind kind) {
      boolean isSmall = kind == Kind.SEND || kind == Kind.SEND_IMMEDIATE || random.nextBoolean();
      return isSmall ? 1024 : RequestHistory.SLOT;
    }

    @Override
    void address(Path path, SentRequest request, SendRequest formatted) {
      request.isRefused = type == QueuePairType.UD && !isCalm && random.nextInt(8) == 0;
      formatted.to(handle, path.numberAtB, request.isRefused ? queueKey + 1 : queueKey);
    }

    @Override
    void begin() {}

    @Override
    void disturb() throws InterruptedException {
      Path path = paths.get(random.nextInt(width));
      Faults faults = network.faults();
      switch (random.nextInt(8)) {
        case 0 -> ignoreClosed(path.a::fail);
        case 1 -> ignoreClosed(path.b::fail);
        case 2 -> {
          path.a.close();
          path.isDiscardedAtA = true;
        }
        case 3 -> {
          path.b.close();
          path.isDiscardedAtB = true;
        }
        case 4 -> network.removeDevice(random.nextBoolean() ? "a" : "b");
        case 5 -> faults.kill(random.nextBoolean() ? "a" : "b");
        default -> faults.disturb(random, Duration.ofMillis(200));
      }
    }
  }
}
