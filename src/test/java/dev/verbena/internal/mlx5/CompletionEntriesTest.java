package dev.verbena.internal.mlx5;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.verbena.Errno;
import dev.verbena.VerbsException;
import dev.verbena.internal.Verbs;
import dev.verbena.internal.calls.DirectQueues;
import dev.verbena.internal.foreign.Block;
import dev.verbena.internal.foreign.Memory;
import dev.verbena.raw.ibv_qp;
import dev.verbena.raw.ibv_qp_attr;
import dev.verbena.raw.ibv_recv_wr;
import dev.verbena.raw.ibv_wc;
import dev.verbena.raw.rdma_h;
import dev.verbena.testing.ForkedJvm;
import dev.verbena.testing.FullHeap;
import java.lang.reflect.Method;
import java.lang.reflect.Proxy;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.opentest4j.AssertionFailedError;

/** What polls do with completion queue entries that the test writes as a device does. */
class CompletionEntriesTest {
  private static final int ENTRIES = 8;
  private static final int SEND = 0;
  private static final int RECEIVE = 2;
  private static final int RECEIVE_ERROR = 14;
  private static final int RECEIVES = 3;

  private final Block memory = new Block(16384);
  private final long entries = memory.address(4096);
  private final long shared = memory.address(8192);
  private final long request = memory.address(2048);
  private final long completion = memory.address(2560);
  private final Mlx5CompletionQueue queue = completionQueue();
  private final Verbs verbs =
      (Verbs)
          Proxy.newProxyInstance(
              Verbs.class.getClassLoader(), new Class<?>[] {Verbs.class}, this::modify);
  private int produced;
  private int resets;
  private boolean isLost;
  private Mlx5SharedReceiveQueue receives;

  private Object modify(Object proxy, Method method, Object[] arguments) {
    assertEquals("ibv_modify_qp", method.getName());
    assertEquals(rdma_h.IBV_QP_STATE(), arguments[2]);
    assertEquals(
        rdma_h.IBV_QPS_RESET(), Memory.getInt((long) arguments[1] + ibv_qp_attr.qp_state$offset()));
    resets++;
    if (isLost) {
      throw new VerbsException("ibv_modify_qp", Errno.EIO);
    }
    return null;
  }

  private Mlx5CompletionQueue completionQueue() {
    return new Mlx5CompletionQueue(
        new QueueMemory.OfCompletionQueue(
            entries, memory.address(0), ENTRIES, 64, memory.address(1024), 1));
  }

  @BeforeEach
  void prepare() {
    for (int i = 0; i < ENTRIES; i++) {
      Memory.putByte(entries + i * 64L + 63, (byte) 0xf0);
    }
    for (int i = 0; i <= RECEIVES; i++) {
      Memory.putShort(shared + i * 64L + 2, Short.reverseBytes((short) (i + 1)));
    }
    receives =
        new Mlx5SharedReceiveQueue(
            new QueueMemory.OfSharedReceiveQueue(shared, memory.address(128), 64, 0, RECEIVES), 1);
  }

  private Mlx5QueuePair queuePair(int number) {
    Mlx5QueuePair queuePair = queuePair(number, queue, queue);
    queuePair.attach();
    return queuePair;
  }

  private Mlx5QueuePair queuePair(
      int number, Mlx5CompletionQueue ofSends, Mlx5CompletionQueue ofReceives) {
    long qp = memory.address(3072);
    Memory.putInt(qp + ibv_qp.state$offset(), rdma_h.IBV_QPS_RTS());
    Mlx5SendQueue sends =
        new Mlx5SendQueue(
            number,
            new DirectQueues.Shape(rdma_h.IBV_QPT_RC(), true, 4, 1, 0, false),
            false,
            memory.address(12288),
            4,
            memory.address(192),
            new DoorbellRegister(
                memory.address(1024), 0, DoorbellRegister.Copied.NONE, memory.address(12288), 4),
            null);
    return new Mlx5QueuePair(verbs, qp, sends, null, receives, ofSends, ofReceives);
  }

  private void write(int number, int opcode, int counter, int syndrome, int vendorSyndrome) {
    long entry = entries + (produced & (ENTRIES - 1)) * 64L;
    Memory.putShort(entry + 60, Short.reverseBytes((short) counter));
    Memory.putInt(entry + 56, Integer.reverseBytes(Opcodes.SEND << 24 | number));
    Memory.putByte(entry + 55, (byte) syndrome);
    Memory.putByte(entry + 54, (byte) vendorSyndrome);
    int owner = (produced & ENTRIES) != 0 ? 1 : 0;
    Memory.putByte(entry + 63, (byte) (opcode << 4 | owner));
    produced++;
  }

  private int poll() {
    return queue.ibv_poll_cq(1, completion);
  }

  private int polledNumber() {
    return Memory.getInt(completion + ibv_wc.qp_num$offset());
  }

  private long polledId() {
    return Memory.getLong(completion + ibv_wc.wr_id$offset());
  }

  /** A thread that spins for it would do so as long as the kernel takes. */
  @Test
  void destructionHoldsNoSpinLock() {
    Mlx5QueuePair queuePair = queuePair(7);
    boolean[] locked = {true};
    queuePair.destroy(() -> locked[0] = LockOf.isHeld(queue));
    assertFalse(locked[0]);
  }

  @Test
  void completionsAreRemovedBeforeTheDestruction() {
    Mlx5QueuePair stays = queuePair(7);
    Mlx5QueuePair ends = queuePair(8);
    write(8, SEND, 0, 0, 0);
    assertEquals(1, poll());
    write(8, SEND, 0, 0, 0);
    write(7, SEND, 0, 0, 0);
    ends.destroy(
        () -> {
          assertEquals(1, resets);
          assertEquals(1, poll()); // That of the other one.
        });
    assertEquals(7, polledNumber());
    assertEquals(0, poll());
    write(7, SEND, 0, 0, 0);
    assertEquals(1, poll());
    assertEquals(7, stays.number());
  }

  @Test
  void queuePairOfALostDeviceIsDestroyed() {
    isLost = true;
    boolean[] isDestroyed = {false};
    queuePair(7).destroy(() -> isDestroyed[0] = true);
    assertEquals(1, resets);
    assertTrue(isDestroyed[0]);
  }

  @Test
  void queuePairWhoseDestructionFailedCompletes() {
    Mlx5QueuePair queuePair = queuePair(7);
    assertThrows(
        IllegalArgumentException.class,
        () ->
            queuePair.destroy(
                () -> {
                  throw new IllegalArgumentException("refused");
                }));
    write(7, SEND, 0, 0, 0);
    assertEquals(1, poll());
    queuePair.destroy(() -> {});
  }

  private void post(long id) {
    Memory.putLong(request + ibv_recv_wr.wr_id$offset(), id);
    assertEquals(0, receives.ibv_post_srq_recv(request, memory.address(2304)));
  }

  @Test
  void receiveThatMetAMissingPageIsPostedAgain() {
    assertEquals(7, queuePair(7).number());
    long sge = memory.address(2688);
    Memory.putLong(request + ibv_recv_wr.sg_list$offset(), sge);
    Memory.putInt(request + ibv_recv_wr.num_sge$offset(), 1);
    Memory.putLong(sge, 0x1234);
    Memory.putInt(sge + 8, 100);
    for (int id = 10; id < 10 + RECEIVES; id++) {
      post(id);
    }
    long segment = Memory.getLong(shared + 16);
    write(7, RECEIVE_ERROR, 0, 0x22, 0x93);
    assertEquals(0, poll());
    assertEquals(RECEIVES + 1, Memory.getInt(memory.address(128)) >>> 24);
    assertEquals(segment, Memory.getLong(shared + RECEIVES * 64L + 16));
    write(7, RECEIVE, RECEIVES, 0, 0);
    assertEquals(1, poll());
    assertEquals(10, polledId());
    post(13); // In the entry that was freed first.
    write(7, RECEIVE, 0, 0, 0);
    assertEquals(1, poll());
    assertEquals(13, polledId());
  }

  /** As another one with this syndrome, and on a queue that is not shared. */
  @Test
  void otherAbortsAreErrors() {
    assertEquals(7, queuePair(7).number());
    post(10);
    write(7, RECEIVE_ERROR, 0, 0x22, 0);
    assertEquals(1, poll());
    assertEquals(rdma_h.IBV_WC_REM_ABORT_ERR(), Memory.getInt(completion + ibv_wc.status$offset()));
  }

  @Test
  void queuePairIsInNeitherQueueIfTheHeapIsFullForTheSecond() {
    String output =
        new ForkedJvm()
            .with("-Xmx16m", "-XX:+UseSerialGC", "-Xint")
            .withNativeAccess()
            .withJarOf(Test.class)
            .withJarOf(AssertionFailedError.class)
            .withJarOf(ibv_qp.class)
            .run(FullHeapForTheSecond.class)
            .succeeded();
    assertEquals("polled -1", output.strip(), "it is not of a queue pair of the queue");
  }

  /** Attaches a queue pair to a queue where it has a place, and to one whose table must grow. */
  static final class FullHeapForTheSecond {
    private static final int ATTEMPTS = 10;

    private FullHeapForTheSecond() {}

    public static void main(String[] args) {
      CompletionEntriesTest test = new CompletionEntriesTest();
      test.prepare();
      test.queuePair(3).destroy(() -> {}); // The first removal links what it calls.
      for (int i = 0; attach(test); i++) {
        FullHeap.free();
        if (i == ATTEMPTS) {
          throw new AssertionError("attached");
        }
      }
      FullHeap.free();
      test.write(7, SEND, 0, 0, 0);
      System.out.println("polled " + test.poll());
    }

    /** Returns false if the heap was full; not if another thread has freed memory meanwhile. */
    private static boolean attach(CompletionEntriesTest test) {
      Mlx5CompletionQueue second = test.completionQueue();
      for (int number = 1; number <= 2; number++) {
        test.queuePair(number, second, second).attach();
      }
      Mlx5QueuePair queuePair = test.queuePair(7, test.queue, second);
      FullHeap.fill();
      try {
        queuePair.attach();
      } catch (OutOfMemoryError e) {
        return false;
      }
      test.queue.remove(queuePair);
      return true;
    }
  }

  @Test
  void queuePairsAreFoundAfterOthersAreRemoved() {
    QueuePairTable table = new QueuePairTable();
    Mlx5QueuePair[] added = new Mlx5QueuePair[40];
    for (int i = 0; i < added.length; i++) {
      added[i] = queuePair(1 + i * 16); // Many in the same slots.
      table.add(added[i]);
    }
    for (int removed = 0; removed < added.length; removed++) {
      table.remove(added[removed * 7 % added.length]);
      for (int i = 0; i < added.length; i++) {
        boolean isThere = true;
        for (int j = 0; j <= removed; j++) {
          isThere &= j * 7 % added.length != i;
        }
        assertEquals(isThere ? added[i] : null, table.find(added[i].number()));
      }
    }
  }
}
