package dev.verbena.internal.mlx5;

import dev.verbena.Errno;
import dev.verbena.VerbsException;
import dev.verbena.internal.Verbs;
import dev.verbena.internal.calls.QueuePairCalls;
import dev.verbena.internal.calls.SessionCalls;
import dev.verbena.internal.foreign.Block;
import dev.verbena.internal.foreign.Memory;
import dev.verbena.raw.ibv_mw;
import dev.verbena.raw.ibv_mw_bind;
import dev.verbena.raw.ibv_mw_bind_info;
import dev.verbena.raw.ibv_qp;
import dev.verbena.raw.ibv_qp_attr;
import dev.verbena.raw.ibv_send_wr;
import dev.verbena.raw.rdma_h;
import org.jspecify.annotations.Nullable;

/** A queue pair: its send queue, and its receive queue or a shared one. */
final class Mlx5QueuePair implements QueuePairCalls {
  private static final long STATE = ibv_qp.state$offset();
  private static final int INIT = rdma_h.IBV_QPS_INIT();
  private static final int RTS = rdma_h.IBV_QPS_RTS();

  private static final System.Logger LOG = System.getLogger(Mlx5QueuePair.class.getName());

  private final Verbs verbs;
  private final long qp;
  private final int number;
  private final Mlx5SendQueue sends;
  private final @Nullable ReceiveEntries receives;
  private final @Nullable Mlx5ReceiveQueue ownReceives;
  private final @Nullable Mlx5SharedReceiveQueue shared;
  private final Mlx5CompletionQueue sendCompletions;
  private final Mlx5CompletionQueue receiveCompletions;

  /**
   * A queue pair in state RESET.
   *
   * @param qp the {@code ibv_qp}
   * @param shared the shared receive queue; null if it has one of its own
   */
  Mlx5QueuePair(
      Verbs verbs,
      long qp,
      Mlx5SendQueue sends,
      @Nullable Mlx5ReceiveQueue ownReceives,
      @Nullable Mlx5SharedReceiveQueue shared,
      Mlx5CompletionQueue sendCompletions,
      Mlx5CompletionQueue receiveCompletions) {
    this.verbs = verbs;
    this.qp = qp;
    this.number = sends.number();
    this.sends = sends;
    this.ownReceives = ownReceives;
    this.shared = shared;
    this.receives = shared == null ? ownReceives : shared;
    this.sendCompletions = sendCompletions;
    this.receiveCompletions = receiveCompletions;
  }

  /**
   * Makes its completions known to its completion queues, to both or, if the heap is full, none.
   */
  void attach() {
    sendCompletions.add(this);
    if (receiveCompletions != sendCompletions) {
      try {
        receiveCompletions.add(this);
      } catch (Throwable t) {
        sendCompletions.remove(this);
        throw t;
      }
    }
  }

  int number() {
    return number;
  }

  Mlx5SendQueue sends() {
    return sends;
  }

  @Nullable ReceiveEntries receives() {
    return receives;
  }

  /** Returns the shared receive queue; null if it has none. */
  @Nullable Mlx5SharedReceiveQueue shared() {
    return shared;
  }

  @Override
  public boolean isDirect() {
    return true;
  }

  /** Returns the state that {@code ibv_modify_qp} stored. */
  private int state() {
    return Memory.getInt(qp + STATE);
  }

  boolean canSend() {
    return state() >= RTS;
  }

  @Override
  public SessionCalls session(int requests, long wc) {
    return new Mlx5Session(this, sendCompletions, requests, wc);
  }

  @Override
  public int ibv_post_send(long wr, long badWr) {
    if (!canSend()) {
      Memory.putLong(badWr, wr);
      return Errno.ENOMEM; // As libmlx5.
    }
    return sends.post(wr, badWr);
  }

  @Override
  public int ibv_post_recv(long wr, long badWr) {
    if (ownReceives == null || state() < INIT) {
      Memory.putLong(badWr, wr);
      return Errno.EINVAL;
    }
    return ownReceives.post(wr, badWr);
  }

  @Override
  public void wasReset() {
    receiveCompletions.clean(this);
    if (sendCompletions != receiveCompletions) {
      sendCompletions.clean(this);
    }
    sends.reset();
    if (ownReceives != null) {
      ownReceives.reset();
    }
  }

  /**
   * Resets the queue pair first: then its completions can be removed while its memory exists, and
   * threads that poll need not wait for the kernel. If the destruction fails, the queue pair is in
   * state RESET and can be used again.
   */
  @Override
  public void destroy(Runnable destruction) {
    reset();
    try {
      sendCompletions.remove(this);
      receiveCompletions.remove(this);
      destruction.run();
    } catch (Throwable t) {
      attach(); // It still exists.
      throw t;
    }
  }

  private void reset() {
    Block attr = new Block(ibv_qp_attr.sizeof());
    Memory.putInt(attr.address(ibv_qp_attr.qp_state$offset()), rdma_h.IBV_QPS_RESET());
    try {
      verbs.ibv_modify_qp(qp, attr.address(0), rdma_h.IBV_QP_STATE());
      wasReset();
    } catch (VerbsException e) {
      // A device that was lost completes nothing more; ibv_destroy_qp tells that it was.
      LOG.log(System.Logger.Level.DEBUG, "{0} on queue pair {1}", e, number);
      sends.awaitPost();
    }
    attr.keep();
  }

  @Override
  public int ibv_bind_mw(long mw, long mwBind) {
    long info = mwBind + ibv_mw_bind.bind_info$offset();
    if ((Memory.getInt(info + ibv_mw_bind_info.mw_access_flags$offset())
            & rdma_h.IBV_ACCESS_ZERO_BASED())
        != 0) {
      return Errno.EINVAL;
    }
    Block wr = new Block(ibv_send_wr.sizeof() + Long.BYTES);
    long at = wr.address(0);
    int key = nextKey(Memory.getInt(mw + ibv_mw.rkey$offset()));
    Memory.putLong(at + ibv_send_wr.wr_id$offset(), Memory.getLong(mwBind));
    Memory.putInt(at + ibv_send_wr.opcode$offset(), Opcodes.WR_BIND_MW);
    Memory.putInt(
        at + ibv_send_wr.send_flags$offset(),
        Memory.getInt(mwBind + ibv_mw_bind.send_flags$offset()));
    long bind = at + ibv_send_wr.bind_mw$offset();
    Memory.putLong(bind + ibv_send_wr.bind_mw.mw$offset(), mw);
    Memory.putInt(bind + ibv_send_wr.bind_mw.rkey$offset(), key);
    Memory.copy(info, bind + ibv_send_wr.bind_mw.bind_info$offset(), ibv_mw_bind_info.sizeof());
    int errno = ibv_post_send(at, at + ibv_send_wr.sizeof());
    wr.keep();
    if (errno == 0) {
      Memory.putInt(mw + ibv_mw.rkey$offset(), key);
    }
    return errno;
  }

  /** As {@code ibv_inc_rkey}: the low eight bits count. */
  private static int nextKey(int key) {
    return (key & ~0xff) | ((key + 1) & 0xff);
  }
}
