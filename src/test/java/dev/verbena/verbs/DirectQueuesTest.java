package dev.verbena.verbs;

import static dev.verbena.testing.DeviceKind.MLX5;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.verbena.Errno;
import dev.verbena.VerbsException;
import dev.verbena.address.Gid;
import dev.verbena.internal.DirectPath;
import dev.verbena.internal.QueueMaker;
import dev.verbena.internal.foreign.Memory;
import dev.verbena.raw.ibv_gid;
import dev.verbena.raw.ibv_qp;
import dev.verbena.raw.ibv_qp_init_attr_ex;
import dev.verbena.testing.Await;
import dev.verbena.testing.DeviceTest;
import dev.verbena.testing.ForkedJvm;
import dev.verbena.testing.On;
import dev.verbena.testing.Rig;
import dev.verbena.values.AccessFlag;
import dev.verbena.values.QueuePairState;
import dev.verbena.values.QueuePairType;
import dev.verbena.values.SendOperation;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.lang.reflect.Field;
import java.util.ArrayList;
import java.util.List;
import java.util.stream.Stream;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;

/** Queues with a direct data path, which only devices with libmlx5 have. */
@On(MLX5)
class DirectQueuesTest {
  private Context context;
  private ProtectionDomain domain;

  @BeforeEach
  void open() {
    context = Rig.a().open();
    domain = context.allocateProtectionDomain();
  }

  @AfterEach
  void close() {
    context.close();
  }

  private CompletionQueue direct() {
    return context.completionQueue(64).direct().create();
  }

  @DeviceTest
  void queuePairsAreDirectIfTheirQueuesAre() {
    try (CompletionQueue queue = direct();
        QueuePair queuePair =
            QueuePair.builder(domain, QueuePairType.RC).completions(queue).create();
        SharedReceiveQueue shared = SharedReceiveQueue.builder(domain, 8).direct().create();
        QueuePair sharing =
            QueuePair.builder(domain, QueuePairType.UC)
                .completions(queue)
                .sharedReceiveQueue(shared)
                .create()) {
      assertTrue(queue.isDirect());
      assertTrue(queuePair.isDirect());
      assertTrue(shared.isDirect());
      assertTrue(sharing.isDirect());
    }
  }

  @DeviceTest
  void directAndOtherQueuesOfAQueuePairAreRefused() {
    ExtendedCompletionQueue other = context.completionQueue(8).createExtended();
    assertFalse(other.isDirect());
    CompletionQueue queue = direct();
    QueuePairBuilder mixed =
        QueuePair.builder(domain, QueuePairType.RC)
            .sendCompletions(queue)
            .receiveCompletions(other);
    assertRefused(mixed, "completion queue of its receive requests");
    QueuePairBuilder raw =
        QueuePair.builder(domain, QueuePairType.RC)
            .completions(queue)
            .sendOperations(SendOperation.RDMA_WRITE);
    assertRefused(raw, "sendOperations");
  }

  @DeviceTest
  void sharedReceiveQueueThatIsNotDirectIsRefused() {
    SharedReceiveQueue shared = SharedReceiveQueue.create(domain, 8);
    shared.settleForProvider();
    QueuePairBuilder builder =
        QueuePair.builder(domain, QueuePairType.RC)
            .completions(direct())
            .sharedReceiveQueue(shared);
    assertRefused(builder, "create it with direct()");
  }

  private static void assertRefused(QueuePairBuilder builder, String reason) {
    IllegalStateException refused =
        assertThrows(IllegalStateException.class, () -> builder.create());
    assertTrue(refused.getMessage().contains(reason), refused.getMessage());
  }

  /** In the thread domain of a direct queue pair, libmlx5 would omit its locks. */
  @DeviceTest
  void queuePairThatCannotBecomeDirectAfterAllIsCreatedAgain() {
    CompletionQueue queue = context.completionQueue(8).create();
    List<Long> domains = new ArrayList<>();
    QueueMaker maker =
        new QueueMaker(
            attr -> {
              domains.add(
                  ibv_qp_init_attr_ex.pd(Memory.at(attr, ibv_qp_init_attr_ex.sizeof())).address());
              queue.settleForProvider(); // As another queue pair would.
              return context.verbs().ibv_create_qp_ex(context.address(), attr);
            },
            context.verbs()::ibv_destroy_qp);
    try (QueuePair queuePair =
        QueuePairBuilder.of(domain, QueuePairType.RC, maker).completions(queue).create()) {
      assertFalse(queuePair.isDirect());
      assertEquals(DirectPath.isAutomatic() ? 2 : 1, domains.size());
      assertEquals(domain.segment().address(), domains.getLast());
    }
  }

  @DeviceTest
  void directQueueIsNotResized() {
    CompletionQueue queue = direct();
    VerbsException refused = assertThrows(VerbsException.class, () -> queue.resize(128));
    assertTrue(refused.isUnsupported());
    assertEquals(0, queue.poll(new Completions(1)));
  }

  /** Which libmlx5 must not notice, as it would not clean the queue any more. */
  @DeviceTest
  void queueThatCannotBeDirectIsLeftToLibmlx5() {
    String output =
        new ForkedJvm()
            .withNativeAccess()
            .withJarOf(ibv_qp.class)
            .with("-Ddev.verbena.direct=auto")
            .withVariable("MLX5_CQE_SIZE", "128")
            .run(LargeEntries.class)
            .succeeded();
    assertTrue(output.contains("MLX5_CQE_SIZE"), output);
  }

  /** The completions of a queue pair that is closed go with it; those of others stay. */
  @DeviceTest
  void completionsOfADestroyedQueuePairAreRemoved() {
    try (Arena arena = Arena.ofShared();
        CompletionQueue queue = direct();
        MemoryRegion region =
            domain.registerMemory(
                arena.allocate(4096), AccessFlag.LOCAL_WRITE, AccessFlag.REMOTE_WRITE);
        QueuePair stays = QueuePair.builder(domain, QueuePairType.RC).completions(queue).create();
        QueuePair peer = QueuePair.builder(domain, QueuePairType.RC).completions(queue).create()) {
      stays.connect(peer.localAddress());
      peer.connect(stays.localAddress());
      QueuePair closed = QueuePair.builder(domain, QueuePairType.RC).completions(queue).create();
      closed.setup().init();
      ReceiveList receives = new ReceiveList(1, 1);
      receives.id(0, 1);
      assertEquals(1, closed.post(receives));
      closed.fail();
      region.memory().set(ValueLayout.JAVA_LONG, 0, 7);
      SendList sends = new SendList(1, 1);
      sends.write(0).id(2).local(region, 0, 8).remote(region.start() + 8, region.rkey()).signaled();
      assertEquals(1, stays.post(sends));
      Completions completions = new Completions(4); // Room for that of the closed one, too.
      Await.until(
          "the data of the write", () -> region.memory().get(ValueLayout.JAVA_LONG, 8) == 7);
      closed.close();
      Await.until("the completion of the write", () -> queue.poll(completions) == 1);
      assertEquals(2, completions.id(0));
      assertTrue(completions.isSuccess(0));
    }
  }

  /** Which the direct data path has reset before: both sides begin at the start of the queues. */
  @DeviceTest
  void queuePairThatCouldNotBeDestroyedIsUsedAgain() {
    try (Arena arena = Arena.ofShared();
        CompletionQueue queue = direct();
        QueuePair queuePair =
            QueuePair.builder(domain, QueuePairType.UD).completions(queue).create()) {
      flushReceives(queuePair, queue, 1, 2);
      MemorySegment group = ibv_gid.allocate(arena);
      new Gid(0xff0e000000000000L, 1).writeTo(group);
      // As other code would, so that closing the queue pair does not detach it.
      context.verbs().ibv_attach_mcast(queuePair.address(), group.address(), (short) 0);
      VerbsException busy = assertThrows(VerbsException.class, queuePair::close);
      assertEquals(Errno.EBUSY, busy.errno());
      context.verbs().ibv_detach_mcast(queuePair.address(), group.address(), (short) 0);
      assertEquals(QueuePairState.RESET, queuePair.state());
      flushReceives(queuePair, queue, 3, 4);
    }
  }

  /** Posts receives, and fails the queue pair, so that they complete. */
  private static void flushReceives(QueuePair queuePair, CompletionQueue queue, long... ids) {
    queuePair.setup().init();
    ReceiveList receives = new ReceiveList(1, 1);
    for (long id : ids) {
      receives.id(0, id);
      assertEquals(1, queuePair.post(receives));
      queuePair.fail();
      Completions completions = new Completions(4);
      Await.until("the completion of receive " + id, () -> queue.poll(completions) > 0);
      assertEquals(1, completions.count());
      assertEquals(id, completions.id(0));
    }
  }

  /** Otherwise the reset would clean the queue of what is no longer there. */
  @DeviceTest
  void closeWaitsForTheEndOfAReset() throws Exception {
    try (CompletionQueue queue = direct();
        QueuePair queuePair =
            QueuePair.builder(domain, QueuePairType.RC).completions(queue).create()) {
      Object lock = field(field(field(queue, "calls"), "lock"), "others");
      Field held = lock.getClass().getDeclaredField("held");
      held.setAccessible(true);
      held.setInt(lock, 1); // The reset waits, as if a poll took long.
      Thread resetting = new Thread(queuePair::reset);
      resetting.start();
      Await.until("the reset to clean the queue", () -> spins(resetting));
      Thread closing = new Thread(queuePair::close);
      closing.start();
      Await.until(
          "the close to wait",
          () ->
              closing.getState() == Thread.State.TIMED_WAITING
                  || closing.getState() == Thread.State.WAITING
                  || spins(closing));
      boolean waits = !spins(closing);
      held.setInt(lock, 0);
      resetting.join();
      closing.join();
      assertTrue(waits);
    }
  }

  private static boolean spins(Thread thread) {
    return Stream.of(thread.getStackTrace()).anyMatch(e -> e.getMethodName().equals("spin"));
  }

  private static Object field(Object owner, String name) throws ReflectiveOperationException {
    Field field = owner.getClass().getDeclaredField(name);
    field.setAccessible(true);
    return field.get(owner);
  }
}
