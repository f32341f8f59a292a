package dev.verbena.simulated;

import dev.verbena.address.Mtu;
import dev.verbena.mlx5.Mlx5Device;
import dev.verbena.simulated.RequestHistory.Path;
import dev.verbena.simulated.SentRequest.Kind;
import dev.verbena.soft.Faults;
import dev.verbena.soft.Simulation;
import dev.verbena.soft.SoftNetwork;
import dev.verbena.values.AccessFlag;
import dev.verbena.values.AckTimeout;
import dev.verbena.values.QueuePairCapacity;
import dev.verbena.values.QueuePairType;
import dev.verbena.values.RnrTimer;
import dev.verbena.verbs.AddressHandle;
import dev.verbena.verbs.MemoryRegion;
import dev.verbena.verbs.QueuePair;
import dev.verbena.verbs.SendRequest;
import dev.verbena.verbs.SharedReceiveQueue;
import java.time.Duration;
import java.util.function.Consumer;
import java.util.function.Predicate;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.condition.EnabledForJreRange;

/** Histories of send requests over DC, whatever happens meanwhile. */
@Tag("host")
@EnabledForJreRange(minVersion = 24)
class DcScenariosTest {
  @Test
  void requestsOfInitiatorsToTargets() {
    Simulation.check(Seeds.of(60), simulation -> new Targets(simulation).run());
  }

  /** Each path has an initiator and a target, which may be those of another path, too. */
  private static final class Targets extends VerbsScenario {
    private static final Kind[] KINDS = Kind.values();
    private static final long KEY = 7;

    private final SharedReceiveQueue shared;
    private final MemoryRegion written;
    private final AddressHandle handle;

    Targets(Simulation simulation) {
      super(
          simulation,
          SoftNetwork.create().profile("connectx5"),
          1 + simulation.random().nextInt(8),
          QueuePairType.DC_INITIATOR);
      history.isShared = true;
      shared = SharedReceiveQueue.builder(b.domain, receiveDepth * width).create();
      written = b.domain.registerMemory(b.memory, AccessFlag.LOCAL_WRITE, AccessFlag.REMOTE_WRITE);
      QueuePair initiator = initiator();
      QueuePair target = target();
      for (int i = 0; i < width; i++) {
        paths.add(new Path(initiator, target, written));
        initiator = random.nextBoolean() ? initiator : initiator();
        target = random.nextBoolean() ? target : target();
      }
      Path path = paths.getFirst();
      handle = a.domain.createAddressHandle(path.a.setup().pathTo(path.b.localAddress()));
    }

    private QueuePair initiator() {
      QueuePair initiator =
          Mlx5Device.of(a.context)
              .dcInitiator(a.domain)
              .sendCompletions(a.completions)
              .capacity(QueuePairCapacity.of(depth))
              .create();
      initiator
          .setup()
          .mtu(Mtu.MTU_512)
          .reads(1 + random.nextInt(4))
          .psn(random.nextBoolean() ? 0xff_ffff - random.nextInt(20) : random.nextInt(99))
          .ackTimeout(AckTimeout.ofCode(8 + random.nextInt(6)))
          .retryCount(isCalm ? 7 : random.nextInt(8))
          .rnrRetryCount(isCalm ? 7 : random.nextInt(8));
      initiator.activate();
      return initiator;
    }

    private QueuePair target() {
      QueuePair target =
          Mlx5Device.of(b.context)
              .dcTarget(b.domain, KEY)
              .receiveCompletions(b.completions)
              .sharedReceiveQueue(shared)
              .create();
      target
          .setup()
          .mtu(Mtu.MTU_512)
          .access(AccessFlag.REMOTE_WRITE, AccessFlag.REMOTE_READ, AccessFlag.REMOTE_ATOMIC)
          .minRnrTimer(RnrTimer.ofCode(1 + random.nextInt(14)));
      target.activate();
      return target;
    }

    @Override
    SharedReceiveQueue shared() {
      return shared;
    }

    /** Paths may share a send queue. */
    @Override
    boolean signalsAll() {
      return true;
    }

    @Override
    Kind kind() {
      return KINDS[random.nextInt(KINDS.length)];
    }

    @Override
    int maxLength(Kind kind) {
      return random.nextBoolean() ? 64 : 2048;
    }

    @Override
    void address(Path path, SentRequest request, SendRequest formatted) {
      request.isRefused = !isCalm && random.nextInt(60) == 0;
      formatted.toTarget(handle, path.numberAtB, request.isRefused ? KEY + 1 : KEY);
    }

    @Override
    void begin() {}

    @Override
    void disturb() throws InterruptedException {
      QueuePair initiator = paths.get(random.nextInt(width)).a;
      QueuePair target = paths.get(random.nextInt(width)).b;
      Faults faults = network.faults();
      switch (random.nextInt(12)) {
        case 0 -> ignoreClosed(initiator::fail);
        case 1 -> {
          initiator.reset();
          discard(path -> path.a == initiator, path -> path.isDiscardedAtA = true);
        }
        case 2 -> {
          initiator.close();
          discard(path -> path.a == initiator, path -> path.isDiscardedAtA = true);
        }
        case 3, 4 -> {
          target.close();
          discard(path -> path.b == target, path -> path.isDiscardedAtB = true);
        }
        case 5 -> network.removeDevice(random.nextBoolean() ? "a" : "b");
        case 6 -> faults.kill(random.nextBoolean() ? "a" : "b");
        case 7 -> {
          written.close();
          paths.forEach(history::targetEnded);
        }
        default -> faults.disturb(random, Duration.ofMillis(200));
      }
    }

    private void discard(Predicate<Path> isMeant, Consumer<Path> discard) {
      paths.stream().filter(isMeant).forEach(discard);
    }
  }
}
