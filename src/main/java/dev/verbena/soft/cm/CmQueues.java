package dev.verbena.soft.cm;

import dev.verbena.VerbsException;
import dev.verbena.internal.Verbs;
import dev.verbena.raw.ibv_qp_attr;
import dev.verbena.raw.rdma_h;
import dev.verbena.soft.device.CStruct;
import dev.verbena.soft.device.Profile;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.util.function.LongConsumer;

/**
 * The state transitions and multicast groups of the queue pair of an RDMA CM identifier, as
 * librdmacm makes them.
 */
public final class CmQueues {
  private final CmManager manager;
  private final Verbs verbs;

  public CmQueues(CmManager manager) {
    this.manager = manager;
    this.verbs = manager.verbs();
  }

  /** Changes attributes that a connection gives. */
  private interface Change {
    void in(CStruct attributes);
  }

  /** Sets the attributes of a queue pair for a state; the result says which. */
  public int setAttributes(CmHandle handle, CStruct attributes) {
    int state = attributes.getInt("qp_state");
    attributes.segment().fill((byte) 0);
    attributes.putInt("qp_state", state);
    return manager.locked(() -> handle.id.setAttributes(state, attributes));
  }

  private void modify(CmHandle handle, long queuePair, int state, Change change) {
    try (Arena arena = Arena.ofConfined()) {
      MemorySegment memory = ibv_qp_attr.allocate(arena);
      CStruct attributes = CStruct.at(memory.address(), ibv_qp_attr.layout());
      attributes.putInt("qp_state", state);
      int mask = setAttributes(handle, attributes);
      change.in(attributes);
      Profile.connecting(() -> verbs.ibv_modify_qp(queuePair, memory.address(), mask));
    }
  }

  private void modify(CmHandle handle, long queuePair, int state) {
    modify(handle, queuePair, state, attributes -> {});
  }

  private void modifyState(long queuePair, int state, int mask) {
    try (Arena arena = Arena.ofConfined()) {
      MemorySegment attributes = ibv_qp_attr.allocate(arena);
      ibv_qp_attr.qp_state(attributes, state);
      Profile.connecting(
          () -> verbs.ibv_modify_qp(queuePair, attributes.address(), rdma_h.IBV_QP_STATE() | mask));
    }
  }

  /** Prepares a new queue pair: for datagrams ready to send, otherwise as far as INIT. */
  public void prepare(CmHandle handle, long queuePair) {
    modify(handle, queuePair, rdma_h.IBV_QPS_INIT());
    if (handle.id.isDatagram()) {
      modifyState(queuePair, rdma_h.IBV_QPS_RTR(), 0);
      modifyState(queuePair, rdma_h.IBV_QPS_RTS(), rdma_h.IBV_QP_SQ_PSN());
    }
  }

  /** Connects the queue pair with what was agreed on. */
  public void connect(CmHandle handle) {
    connect(handle, rdma_h.RDMA_MAX_RESP_RES(), rdma_h.RDMA_MAX_INIT_DEPTH());
  }

  /** Connects the queue pair with numbers of outstanding reads and atomics of the program's. */
  public void connect(CmHandle handle, int responderResources, int initiatorDepth) {
    long queuePair = handle.queuePair();
    if (queuePair == 0) {
      return;
    }
    modify(handle, queuePair, rdma_h.IBV_QPS_INIT());
    modify(
        handle,
        queuePair,
        rdma_h.IBV_QPS_RTR(),
        attributes -> {
          if (responderResources != rdma_h.RDMA_MAX_RESP_RES()) {
            attributes.putByte("max_dest_rd_atomic", responderResources);
          }
        });
    modify(
        handle,
        queuePair,
        rdma_h.IBV_QPS_RTS(),
        attributes -> {
          if (initiatorDepth != rdma_h.RDMA_MAX_INIT_DEPTH()) {
            attributes.putByte("max_rd_atomic", initiatorDepth);
          }
        });
  }

  /** Moves the queue pair to the state ERR. */
  public void fail(CmHandle handle) {
    long queuePair = handle.queuePair();
    if (queuePair != 0) {
      modifyState(queuePair, rdma_h.IBV_QPS_ERR(), 0);
    }
  }

  /** Attaches the queue pair to a group that was joined; false if that fails. */
  public boolean attach(CmHandle handle, CmMembership membership) {
    long queuePair = handle.queuePair();
    if (queuePair == 0 || membership.flags == rdma_h.RDMA_MC_JOIN_FLAG_SENDONLY_FULLMEMBER()) {
      return true;
    }
    try {
      withGroup(membership, gid -> verbs.ibv_attach_mcast(queuePair, gid, (short) 0));
      return true;
    } catch (VerbsException e) {
      return false;
    }
  }

  /** Detaches the queue pair from a group; it may never have been attached. */
  public void detach(CmHandle handle, CmMembership membership) {
    long queuePair = handle.queuePair();
    if (queuePair == 0 || membership.flags == rdma_h.RDMA_MC_JOIN_FLAG_SENDONLY_FULLMEMBER()) {
      return;
    }
    try {
      withGroup(membership, gid -> verbs.ibv_detach_mcast(queuePair, gid, (short) 0));
    } catch (VerbsException e) {
      // The event of the group was not taken, so the queue pair was not attached.
    }
  }

  private static void withGroup(CmMembership membership, LongConsumer action) {
    try (Arena arena = Arena.ofConfined()) {
      long gid = arena.allocate(16, Long.BYTES).address();
      membership.group.write(gid);
      action.accept(gid);
    }
  }
}
