package dev.verbena.internal.mlx5;

import static org.junit.jupiter.api.Assertions.assertEquals;

import dev.verbena.Errno;
import dev.verbena.internal.calls.DirectQueues;
import dev.verbena.internal.foreign.Block;
import dev.verbena.internal.foreign.Memory;
import dev.verbena.raw.ibv_qp;
import dev.verbena.raw.ibv_send_wr;
import dev.verbena.raw.rdma_h;
import dev.verbena.testing.ForkedJvm;
import org.junit.jupiter.api.Test;

/** A full stack of a thread that posts: the StackOverflowError is thrown before it has the lock. */
class LockOnFullStackTest {
  @Test
  void postsEndBeforeTheLockInCodeOfTheFirstCompiler() {
    assertEquals("unlocked", lastLine("-XX:TieredStopAtLevel=1"));
  }

  @Test
  void postsEndBeforeTheLockInCodeOfBothCompilers() {
    assertEquals("unlocked", lastLine("-XX:+TieredCompilation"));
  }

  private static String lastLine(String option) {
    return new ForkedJvm()
        .with("-Xss256k", option)
        .withNativeAccess()
        .withJarOf(ibv_qp.class)
        .run(Overflowing.class)
        .succeeded()
        .strip()
        .lines()
        .toList()
        .getLast();
  }

  /** Posts at every depth of the stack. */
  static final class Overflowing {
    private static final int ROUNDS = 200;
    private static final int ENTRIES = 1;
    private static final int STRIDE = 64;

    private final Block memory = new Block(4096);
    private final long request = memory.address(256);
    private final long badRequest = memory.address(512);
    private final Mlx5ReceiveQueue receives =
        new Mlx5ReceiveQueue(memory.address(1024), ENTRIES, STRIDE, memory.address(0));
    private final Mlx5SendQueue sends =
        new Mlx5SendQueue(
            1,
            new DirectQueues.Shape(rdma_h.IBV_QPT_RC(), true, ENTRIES, 1, 0, true),
            false,
            memory.address(2048),
            ENTRIES,
            memory.address(8),
            new DoorbellRegister(
                memory.address(3072),
                64,
                DoorbellRegister.Copied.ALL,
                memory.address(2048),
                ENTRIES),
            null);
    private int overflows;

    public static void main(String[] args) throws ReflectiveOperationException {
      Overflowing overflowing = new Overflowing();
      Memory.putInt(overflowing.request + ibv_send_wr.opcode$offset(), Opcodes.WR_RDMA_WRITE);
      for (int i = 0; i < ROUNDS; i++) {
        overflowing.overflow(i);
      }
      if (overflowing.overflows != ROUNDS) {
        throw new AssertionError(overflowing.overflows + " overflows");
      }
      System.out.println("unlocked");
    }

    private void overflow(int round) throws ReflectiveOperationException {
      try {
        descend(round, round);
      } catch (StackOverflowError e) {
        overflows++;
        requireBeforeSection(e);
      }
      requireUnlocked(round, receives);
      requireUnlocked(round, sends);
    }

    /** Begins at another depth in each round. */
    private void descend(int round, int levels) {
      if (levels > 0) {
        descend(round, levels - 1);
      } else if (round % 2 == 0) {
        descendAndReceive(0);
      } else {
        descendAndSend(0);
      }
    }

    @SuppressWarnings("InfiniteRecursion") // Until the stack is full.
    private void descendAndReceive(int depth) {
      require(receives.post(request, badRequest));
      long _ = receives.complete(depth);
      descendAndReceive(depth + 1);
    }

    @SuppressWarnings("InfiniteRecursion") // Until the stack is full.
    private void descendAndSend(int depth) {
      require(sends.post(request, badRequest));
      long _ = sends.complete(depth);
      descendAndSend(depth + 1);
    }

    private static void require(int errno) {
      if (errno != 0 && errno != Errno.ENOMEM) { // Full, if the stack was before a completion.
        throw new AssertionError("errno " + errno);
      }
    }

    /** What a post has called last, if it has called anything, is the check of the stack. */
    private static void requireBeforeSection(StackOverflowError error) {
      StackTraceElement called = null;
      for (StackTraceElement frame : error.getStackTrace()) {
        if (frame.getMethodName().equals("post")
            && called != null
            && !called.getMethodName().equals("requireForSection")) {
          throw new AssertionError("a post ended halfway", error);
        }
        if (frame.getClassName().equals(Overflowing.class.getName())) {
          return;
        }
        called = frame;
      }
    }

    private static void requireUnlocked(int round, Object queue) {
      if (LockOf.isHeld(queue)) {
        throw new AssertionError("round " + round + ": a lock of " + queue + " stays locked");
      }
    }
  }
}
