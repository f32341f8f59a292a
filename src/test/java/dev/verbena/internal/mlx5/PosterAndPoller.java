package dev.verbena.internal.mlx5;

import dev.verbena.Errno;
import dev.verbena.internal.calls.DirectQueues;
import dev.verbena.internal.foreign.Block;
import dev.verbena.internal.foreign.Memory;
import dev.verbena.raw.ibv_recv_wr;
import dev.verbena.raw.ibv_send_wr;
import dev.verbena.raw.rdma_h;
import java.util.function.IntUnaryOperator;
import java.util.function.LongUnaryOperator;

/**
 * One thread posts to a queue that is nearly always full, and another one completes what the
 * doorbell record shows: each completion has the {@code wr_id} of its own request. A program, as it
 * runs under both compilers.
 */
final class PosterAndPoller {
  /** One, so that nearly each post finds the queue full. */
  private static final int ENTRIES = 1;

  private static final int STRIDE = 64;

  private final Block memory = new Block(4096);
  private final long record = memory.address(0);
  private final long request = memory.address(256);
  private final long badRequest = memory.address(512);
  private final long entries = memory.address(1024);
  private final int requests;

  private PosterAndPoller(int requests) {
    this.requests = requests;
  }

  static void receiveQueue(int requests) {
    PosterAndPoller run = new PosterAndPoller(requests);
    Mlx5ReceiveQueue queue = new Mlx5ReceiveQueue(run.entries, ENTRIES, STRIDE, run.record);
    run.run(
        ibv_recv_wr.wr_id$offset(),
        wr -> queue.post(wr, run.badRequest),
        number -> number,
        queue::complete);
  }

  static void sendQueue(int requests) {
    PosterAndPoller run = new PosterAndPoller(requests);
    Memory.putInt(run.request + ibv_send_wr.opcode$offset(), Opcodes.WR_RDMA_WRITE);
    Mlx5SendQueue queue =
        new Mlx5SendQueue(
            1,
            new DirectQueues.Shape(rdma_h.IBV_QPT_RC(), true, ENTRIES, 1, 0, true),
            false,
            run.entries,
            ENTRIES,
            run.record,
            new DoorbellRegister(
                run.memory.address(3072), 64, DoorbellRegister.Copied.ALL, run.entries, ENTRIES),
            null);
    run.run(
        ibv_send_wr.wr_id$offset(),
        wr -> queue.post(wr, run.badRequest),
        number -> number,
        queue::complete);
  }

  static void sharedReceiveQueue(int requests) {
    PosterAndPoller run = new PosterAndPoller(requests);
    for (int i = 0; i <= ENTRIES; i++) {
      Memory.putShort(run.entries + (long) i * STRIDE + 2, Short.reverseBytes((short) (i + 1)));
    }
    Mlx5SharedReceiveQueue queue =
        new Mlx5SharedReceiveQueue(
            new QueueMemory.OfSharedReceiveQueue(run.entries, run.record, STRIDE, 0, ENTRIES), 1);
    run.run(
        ibv_recv_wr.wr_id$offset(),
        wr -> queue.ibv_post_srq_recv(wr, run.badRequest),
        number -> number % (ENTRIES + 1), // Completed in order, they are used in order.
        queue::complete);
  }

  /** Completes an entry. */
  private interface Completion {
    long complete(int counter);
  }

  private void run(
      long id, LongUnaryOperator post, IntUnaryOperator counter, Completion completion) {
    Thread poster = new Thread(() -> post(id, post), "poster");
    poster.start();
    long wrong = 0;
    for (int number = 0; number < requests; number++) {
      while (posted() == (number & 0xffff)) {
        Thread.onSpinWait();
      }
      if (completion.complete(counter.applyAsInt(number)) != number) {
        wrong++;
      }
    }
    memory.keep();
    if (wrong != 0) {
      throw new AssertionError(wrong + " of " + requests + " completions have another wr_id");
    }
  }

  private void post(long id, LongUnaryOperator post) {
    for (int number = 0; number < requests; ) {
      Memory.putLong(request + id, number);
      long errno = post.applyAsLong(request);
      if (errno == 0) {
        number++;
      } else if (errno != Errno.ENOMEM) {
        throw new AssertionError("errno " + errno);
      }
    }
    memory.keep();
  }

  /** Any mixture of the bytes of two numbers that is not the first one shows that it changed. */
  private int posted() {
    return Byte.toUnsignedInt(Memory.getByteOpaque(record + 2)) << 8
        | Byte.toUnsignedInt(Memory.getByteOpaque(record + 3));
  }

  public static void main(String[] arguments) {
    int requests = Integer.parseInt(arguments[0]);
    receiveQueue(requests);
    sendQueue(requests);
    sharedReceiveQueue(requests / 10);
  }
}
