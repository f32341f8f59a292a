package dev.verbena.internal.mlx5;

import static org.openjdk.jcstress.annotations.Expect.ACCEPTABLE;
import static org.openjdk.jcstress.annotations.Expect.FORBIDDEN;

import dev.verbena.Errno;
import dev.verbena.internal.calls.DirectQueues;
import dev.verbena.internal.foreign.Block;
import dev.verbena.internal.foreign.Memory;
import dev.verbena.raw.ibv_recv_wr;
import dev.verbena.raw.ibv_send_wr;
import dev.verbena.raw.ibv_wc;
import dev.verbena.raw.rdma_h;
import dev.verbena.testing.Await;
import java.util.function.IntSupplier;
import java.util.function.IntToLongFunction;
import org.openjdk.jcstress.annotations.Actor;
import org.openjdk.jcstress.annotations.Arbiter;
import org.openjdk.jcstress.annotations.JCStressTest;
import org.openjdk.jcstress.annotations.Outcome;
import org.openjdk.jcstress.annotations.State;
import org.openjdk.jcstress.infra.results.I_Result;
import org.openjdk.jcstress.infra.results.JJI_Result;

/** Threads that post to queues of mlx5, and others that poll their completions. */
final class QueuesStress {
  private static final int STRIDE = 64;

  // The last byte of a completion queue entry: the opcode, and the owner bit of the first pass.
  private static final int RECEIVED = 0x20;
  private static final int INVALID = 0xf0;

  /** Written by the thread that posts, and shared by all queues of a test: none reads it. */
  private static final Block MEMORY = new Block(1024);

  private static final long RECORD = MEMORY.address(0);
  private static final long REGISTER = MEMORY.address(768);
  private static final long BAD_REQUEST = MEMORY.address(128);
  private static final long REQUEST = MEMORY.address(256);
  private static final long ENTRIES = MEMORY.address(512);

  private QueuesStress() {}

  /** One thread posts to a queue that is nearly always full, another one completes its requests. */
  private static final class PosterAndPoller {
    private static final int REQUESTS = 8;

    private final IntSupplier post;
    private final IntToLongFunction complete;

    /** The number of requests that were posted. */
    private volatile int posted;

    /**
     * Creates what the threads of one queue do.
     *
     * @param post posts {@link #REQUEST}; returns an errno
     * @param complete completes the request with a number, from 0 on; returns its {@code wr_id}
     */
    PosterAndPoller(IntSupplier post, IntToLongFunction complete) {
      this.post = post;
      this.complete = complete;
    }

    void post(long id) {
      for (int number = 0; number < REQUESTS; number++) {
        Memory.putLong(REQUEST + id, number);
        int errno = post.getAsInt();
        for (int tries = 0; errno == Errno.ENOMEM; tries++) {
          Await.spin(tries);
          errno = post.getAsInt();
        }
        if (errno != 0) {
          throw new AssertionError("errno " + errno);
        }
        posted = number + 1;
      }
    }

    int complete() {
      int wrong = 0;
      for (int number = 0; number < REQUESTS; number++) {
        for (int tries = 0; posted == number; tries++) {
          Await.spin(tries);
        }
        wrong += complete.applyAsLong(number) == number ? 0 : 1;
      }
      return wrong;
    }
  }

  @JCStressTest
  @State
  @Outcome(id = "0", expect = ACCEPTABLE, desc = "Each completion has the wr_id of its request.")
  @Outcome(expect = FORBIDDEN, desc = "A post overwrote the wr_id of a request before the poll.")
  public static class SendIds {
    private final Mlx5SendQueue queue = sendQueue();
    private final PosterAndPoller threads =
        new PosterAndPoller(() -> queue.post(REQUEST, BAD_REQUEST), queue::complete);

    @Actor
    public void post() {
      threads.post(ibv_send_wr.wr_id$offset());
    }

    @Actor
    public void poll(I_Result result) {
      result.r1 = threads.complete();
    }
  }

  @JCStressTest
  @State
  @Outcome(id = "0", expect = ACCEPTABLE, desc = "Each completion has the wr_id of its request.")
  @Outcome(expect = FORBIDDEN, desc = "A post overwrote the wr_id of a request before the poll.")
  public static class ReceiveIds {
    private final Mlx5ReceiveQueue queue = new Mlx5ReceiveQueue(ENTRIES, 1, STRIDE, RECORD);
    private final PosterAndPoller threads =
        new PosterAndPoller(() -> queue.post(REQUEST, BAD_REQUEST), queue::complete);

    @Actor
    public void post() {
      threads.post(ibv_recv_wr.wr_id$offset());
    }

    @Actor
    public void poll(I_Result result) {
      result.r1 = threads.complete();
    }
  }

  @JCStressTest
  @State
  @Outcome(id = "0", expect = ACCEPTABLE, desc = "Each completion has the wr_id of its request.")
  @Outcome(expect = FORBIDDEN, desc = "A post overwrote the wr_id of a request before the poll.")
  public static class SharedReceiveIds {
    private static final int COUNT = 2;

    private final Block entries = entries(COUNT);
    private final Mlx5SharedReceiveQueue queue = sharedReceiveQueue(entries, COUNT);

    /** Completed in order, the entries are used in order. */
    private final PosterAndPoller threads =
        new PosterAndPoller(
            () -> queue.ibv_post_srq_recv(REQUEST, BAD_REQUEST),
            number -> queue.complete(number % COUNT));

    @Actor
    public void post() {
      threads.post(ibv_recv_wr.wr_id$offset());
      entries.keep();
    }

    @Actor
    public void poll(I_Result result) {
      result.r1 = threads.complete();
      entries.keep();
    }
  }

  /** Two completion queues complete requests of one shared receive queue. */
  @JCStressTest
  @State
  @Outcome(id = "0, 1, 2", expect = ACCEPTABLE, desc = "Both entries are free afterwards.")
  @Outcome(expect = FORBIDDEN, desc = "A wrong wr_id, or an entry is lost or free twice.")
  public static class SharedReceiveCompletions {
    private static final int COUNT = 3;

    private final Block entries = entries(COUNT);
    private final Mlx5SharedReceiveQueue queue = sharedReceiveQueue(entries, COUNT);

    public SharedReceiveCompletions() {
      postAll(new Block(ibv_recv_wr.sizeof() + Long.BYTES));
    }

    /** Posts until the queue is full; returns the number of requests. */
    private int postAll(Block request) {
      int count = 0;
      do {
        Memory.putLong(request.address(ibv_recv_wr.wr_id$offset()), count++);
      } while (count <= COUNT
          && queue.ibv_post_srq_recv(request.address(0), request.address(ibv_recv_wr.sizeof()))
              == 0);
      request.keep();
      return count - 1;
    }

    @Actor
    public void first(JJI_Result result) {
      result.r1 = queue.complete(0);
    }

    @Actor
    public void second(JJI_Result result) {
      result.r2 = queue.complete(1);
    }

    @Arbiter
    public void post(JJI_Result result) {
      result.r3 = postAll(new Block(ibv_recv_wr.sizeof() + Long.BYTES));
      entries.keep();
    }
  }

  /** Two threads poll a queue that has the completions of all requests from the start. */
  @JCStressTest
  @State
  @Outcome(id = "1111111", expect = ACCEPTABLE, desc = "Each completion was read once.")
  @Outcome(expect = FORBIDDEN, desc = "A completion is lost, was read twice or has a wrong wr_id.")
  public static class TwoPollers {
    private static final int COUNT = 8;
    private static final int NEW = 7;
    private static final int BATCH = 2;
    private static final long BATCH_SIZE = BATCH * ibv_wc.sizeof();

    private final Block memory = new Block(COUNT * STRIDE + 2 * BATCH_SIZE);
    private final Mlx5CompletionQueue queue =
        new Mlx5CompletionQueue(
            new QueueMemory.OfCompletionQueue(
                memory.address(0), RECORD, COUNT, STRIDE, REGISTER, 1));
    private int first;
    private int second;

    public TwoPollers() {
      Mlx5ReceiveQueue receives = new Mlx5ReceiveQueue(ENTRIES, COUNT, STRIDE, RECORD);
      Mlx5SendQueue sends = sendQueue();
      Block request = new Block(ibv_recv_wr.sizeof() + Long.BYTES);
      for (int i = 0, id = 1; i < COUNT; i++, id *= 10) {
        Memory.putLong(request.address(ibv_recv_wr.wr_id$offset()), id);
        int _ = receives.post(request.address(0), request.address(ibv_recv_wr.sizeof()));
        long entry = memory.address((long) i * STRIDE);
        Memory.putInt(entry + 56, Integer.reverseBytes(sends.number()));
        Memory.putShort(entry + 60, Short.reverseBytes((short) i));
        Memory.putByte(entry + 63, (byte) (i < NEW ? RECEIVED : INVALID));
      }
      request.keep();
      new Mlx5QueuePair(null, 0, sends, receives, null, queue, queue).attach();
    }

    /** Polls until there are no completions; returns the sum of their {@code wr_id}. */
    private int poll(long completions) {
      int ids = 0;
      for (int count = -1; count != 0; ) {
        count = queue.ibv_poll_cq(BATCH, completions);
        for (int i = 0; i < count; i++) {
          ids += (int) Memory.getLong(completions + i * ibv_wc.sizeof() + ibv_wc.wr_id$offset());
        }
      }
      memory.keep();
      return ids;
    }

    @Actor
    public void first() {
      first = poll(memory.address(COUNT * STRIDE));
    }

    @Actor
    public void second() {
      second = poll(memory.address(COUNT * STRIDE + BATCH_SIZE));
    }

    @Arbiter
    public void sum(I_Result result) {
      result.r1 = first + second;
    }
  }

  /** Two threads that own a lock in turn, until it is shared. */
  @JCStressTest
  @State
  @Outcome(id = "48", expect = ACCEPTABLE, desc = "One thread at a time had the lock.")
  @Outcome(expect = FORBIDDEN, desc = "Two threads had the lock at the same time.")
  public static class Locked {
    private static final int TIMES = 24;

    private final QueueLock lock = new QueueLock();
    private int count;

    @Actor
    public void first() {
      for (int i = 0; i < TIMES; i++) {
        lock.lock();
        count++;
        lock.unlock();
      }
    }

    @Actor
    public void second() {
      for (int i = 0; i < TIMES; i++) {
        lock.lock();
        count++;
        lock.flushAndUnlock();
      }
    }

    @Arbiter
    public void count(I_Result result) {
      result.r1 = count;
    }
  }

  /** The owner of a lock, and a thread that has it now and then. */
  @JCStressTest
  @State
  @Outcome(id = "68", expect = ACCEPTABLE, desc = "One thread at a time had the lock.")
  @Outcome(expect = FORBIDDEN, desc = "Two threads had the lock at the same time.")
  public static class LockedOnce {
    private static final int TIMES = 64;
    private static final int TIMES_OF_OTHER = 4;

    private final QueueLock lock = new QueueLock();
    private int count;

    @Actor
    public void owner() {
      for (int i = 0; i < TIMES; i++) {
        lock.lock();
        count++;
        lock.unlock();
      }
    }

    @Actor
    public void other() {
      for (int i = 0; i < TIMES_OF_OTHER; i++) {
        lock.lockOnce();
        count++;
        lock.unlockOnce();
      }
    }

    @Arbiter
    public void count(I_Result result) {
      result.r1 = count;
    }
  }

  private static Mlx5SendQueue sendQueue() {
    return new Mlx5SendQueue(
        1,
        new DirectQueues.Shape(rdma_h.IBV_QPT_RC(), true, 1, 1, 0, true),
        false,
        ENTRIES,
        1,
        RECORD,
        new DoorbellRegister(REGISTER, STRIDE, DoorbellRegister.Copied.ALL, ENTRIES, 1),
        null);
  }

  /** Returns the entries of a shared receive queue, each with the index of the next one. */
  private static Block entries(int count) {
    Block entries = new Block((long) count * STRIDE);
    for (int i = 0; i < count; i++) {
      Memory.putShort(entries.address((long) i * STRIDE + 2), Short.reverseBytes((short) (i + 1)));
    }
    return entries;
  }

  /** One of the entries is not used. */
  private static Mlx5SharedReceiveQueue sharedReceiveQueue(Block entries, int count) {
    return new Mlx5SharedReceiveQueue(
        new QueueMemory.OfSharedReceiveQueue(entries.address(0), RECORD, STRIDE, 0, count - 1), 1);
  }
}
