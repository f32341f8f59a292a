package dev.verbena.verbs;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;

import dev.verbena.fake.FakeProvider;
import dev.verbena.flow.FlowCounters;
import dev.verbena.internal.jfr.ObjectName;
import dev.verbena.testing.Await;
import dev.verbena.values.AccessFlag;
import dev.verbena.values.MemoryWindowType;
import dev.verbena.values.QueuePairType;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.time.Duration;
import java.util.Set;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.FutureTask;
import java.util.function.Consumer;
import java.util.function.Function;
import java.util.stream.Stream;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.Arguments;
import org.junit.jupiter.params.provider.EnumSource;
import org.junit.jupiter.params.provider.MethodSource;

/**
 * A control call on an object that another thread closes reaches C before its end or not at all.
 */
class ControlCallsBesideCloseTest {
  private static final int ROUNDS = 500;
  private static final MemorySegment HOST = Arena.global().allocate(8);

  private final Context context = FakeDevices.of(new FakeProvider()).open();
  private final ProtectionDomain domain = context.allocateProtectionDomain();
  private final CompletionQueue queue = context.createCompletionQueue(16);

  @AfterEach
  void close() {
    context.close();
  }

  /** An object that is made, and a control call on it. */
  interface Kind<R extends Resource> {
    R make(ControlCallsBesideCloseTest test);

    void call(R object);
  }

  static <R extends Resource> Arguments kind(
      String name, Function<ControlCallsBesideCloseTest, R> make, Consumer<R> call) {
    return Arguments.of(
        name,
        new Kind<R>() {
          @Override
          public R make(ControlCallsBesideCloseTest test) {
            return make.apply(test);
          }

          @Override
          public void call(R object) {
            call.accept(object);
          }
        });
  }

  static Stream<Arguments> kinds() {
    return Stream.of(
        kind("ibv_query_qp", ControlCallsBesideCloseTest::queuePair, QueuePair::state),
        kind("ibv_modify_qp", ControlCallsBesideCloseTest::queuePair, QueuePair::reset),
        kind("ibv_query_srq", t -> SharedReceiveQueue.create(t.domain, 4), q -> q.query()),
        kind("ibv_memcpy_to_dm", t -> DeviceMemory.allocate(t.context, 64), m -> m.write(0, HOST)),
        kind("ibv_memcpy_from_dm", t -> DeviceMemory.allocate(t.context, 64), m -> m.read(0, HOST)),
        kind("ibv_read_counters", t -> FlowCounters.on(t.context), c -> c.read(1)),
        kind(
            "ibv_read_comp_cntr",
            t -> CompletionCounter.create(t.context, CompletionCounter.Type.WRS),
            c -> c.value()),
        kind(
            "ibv_modify_cq",
            t -> t.context.createCompletionQueue(4),
            q -> q.moderate(1, Duration.ofMillis(1))),
        kind(
            "ibv_query_comp_cntr_caps",
            t -> FakeDevices.of(new FakeProvider()).open(),
            c -> CompletionCounter.capabilities(c)));
  }

  private QueuePair queuePair() {
    return QueuePair.builder(domain, QueuePairType.RC).completions(queue).create();
  }

  @ParameterizedTest(name = "{0}")
  @MethodSource("kinds")
  <R extends Resource> void endsBeforeTheObjectIsDestroyed(String name, Kind<R> kind)
      throws Exception {
    for (int round = 0; round < ROUNDS; round++) {
      R object = kind.make(this);
      CountDownLatch begun = new CountDownLatch(1);
      FutureTask<String> caller =
          new FutureTask<>(
              () -> {
                try {
                  while (true) {
                    kind.call(object);
                    begun.countDown();
                  }
                } catch (IllegalStateException e) {
                  return e.getMessage();
                }
              });
      Thread.ofPlatform().start(caller);
      begun.await();
      object.close();
      assertEquals(ObjectName.of(object) + " is closed", caller.get());
    }
  }

  /** A region whose close begins during a binding, as another thread does. */
  public static final class ClosingDuringBinding {
    private Thread closer;

    public int bind_mw(long queuePair, long window, long binding) {
      closer.start();
      Await.waits(closer);
      return 0;
    }
  }

  @Test
  void aWindowThatIsBoundMeanwhileIsClosedBeforeItsRegion() throws Exception {
    ClosingDuringBinding closing = new ClosingDuringBinding();
    try (Context open = FakeDevices.of(new FakeProvider().play(closing)).open();
        ProtectionDomain pd = open.allocateProtectionDomain();
        CompletionQueue cq = open.createCompletionQueue(16);
        QueuePair poster = QueuePair.builder(pd, QueuePairType.RC).completions(cq).create()) {
      MemoryRegion region = pd.allocateMemory(8, AccessFlag.MW_BIND);
      MemoryWindow window = MemoryWindow.allocate(pd, MemoryWindowType.TYPE_1);
      closing.closer = Thread.ofPlatform().daemon().unstarted(region::close);
      window.bind(poster, 0, new WindowBinding(region, 0, 8, Set.of(AccessFlag.REMOTE_READ)));
      closing.closer.join();
      assertFalse(window.isOpen());
      assertFalse(region.isOpen());
    }
  }

  /** A close that begins while C changes a region, as another thread does. */
  public static final class ClosingDuringChange {
    private Thread closer;

    public int ibv_rereg_mr(
        long region, int flags, long domain, long address, long length, int access) {
      closer.start();
      Await.waits(closer);
      return 0;
    }
  }

  /** What is closed while a region moves from one domain to another. */
  enum Closed {
    NEW_DOMAIN,
    OLD_DOMAIN,
    REGION
  }

  @ParameterizedTest
  @EnumSource
  void aRegionIsClosedBeforeTheDomainThatItMovesToMeanwhile(Closed closed) throws Exception {
    ClosingDuringChange closing = new ClosingDuringChange();
    try (Context open = FakeDevices.of(new FakeProvider().play(closing)).open();
        ProtectionDomain from = open.allocateProtectionDomain();
        ProtectionDomain to = open.allocateProtectionDomain()) {
      MemoryRegion region = from.allocateMemory(8, AccessFlag.LOCAL_WRITE);
      Resource object =
          switch (closed) {
            case NEW_DOMAIN -> to;
            case OLD_DOMAIN -> from;
            case REGION -> region;
          };
      FutureTask<Boolean> close =
          new FutureTask<>(
              () -> {
                object.close();
                return region.isOpen();
              });
      closing.closer = Thread.ofPlatform().daemon().unstarted(close);
      region.reregister().domain(to).apply();
      assertFalse(close.get(), "closed before its domain");
      assertEquals(to, region.domain());
      assertFalse(object.isOpen());
    }
  }
}
