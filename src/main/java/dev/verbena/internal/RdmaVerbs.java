package dev.verbena.internal;

import dev.verbena.Errno;
import dev.verbena.VerbsException;
import dev.verbena.raw.ibv_mr;
import dev.verbena.raw.ibv_recv_wr;
import dev.verbena.raw.ibv_send_wr;
import dev.verbena.raw.ibv_sge;
import dev.verbena.raw.rdma_addr;
import dev.verbena.raw.rdma_cm_id;
import dev.verbena.raw.rdma_h;
import dev.verbena.raw.rdma_route;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;

/**
 * The inline functions of rdma_cma.h and rdma_verbs.h: verbs on the queues of an {@code
 * rdma_cm_id}.
 *
 * <p>Like their originals they build one request for each call; what is posted often is posted from
 * a prepared list instead.
 */
public final class RdmaVerbs {
  private static final long LOCAL = rdma_cm_id.route$offset() + rdma_route.addr$offset();
  private static final long PEER = LOCAL + Abi.current().offsetOf(rdma_addr.layout(), "dst_addr");

  private final Verbs verbs;

  /** Builds on the verbs of a provider. */
  public RdmaVerbs(Verbs verbs) {
    this.verbs = verbs;
  }

  /** The address of the identifier's own {@code sockaddr}. */
  public static long rdma_get_local_addr(long id) {
    return id + LOCAL;
  }

  /** The address of the peer's {@code sockaddr}. */
  public static long rdma_get_peer_addr(long id) {
    return id + PEER;
  }

  /** Turns an errno that was returned into the exception that -1 and errno stand for. */
  public static void rdma_seterrno(String function, int result) {
    if (result != 0) {
      throw new VerbsException(function, result > 0 ? result : Errno.EIO);
    }
  }

  /** Registers memory to send from and receive into. */
  public long rdma_reg_msgs(long id, long address, long length) {
    return verbs.__ibv_reg_mr(pd(id), address, length, rdma_h.IBV_ACCESS_LOCAL_WRITE());
  }

  /** Registers memory that the peer may read. */
  public long rdma_reg_read(long id, long address, long length) {
    int access = rdma_h.IBV_ACCESS_LOCAL_WRITE() | rdma_h.IBV_ACCESS_REMOTE_READ();
    return verbs.__ibv_reg_mr(pd(id), address, length, access);
  }

  /** Registers memory that the peer may write. */
  public long rdma_reg_write(long id, long address, long length) {
    int access = rdma_h.IBV_ACCESS_LOCAL_WRITE() | rdma_h.IBV_ACCESS_REMOTE_WRITE();
    return verbs.__ibv_reg_mr(pd(id), address, length, access);
  }

  /** Deregisters memory. */
  public void rdma_dereg_mr(long mr) {
    verbs.ibv_dereg_mr(mr);
  }

  /** Posts a receive into several buffers; to the shared queue where the identifier has one. */
  public void rdma_post_recvv(long id, long context, long sgl, int nsge) {
    try (Arena arena = Arena.ofConfined()) {
      MemorySegment wr = ibv_recv_wr.allocate(arena);
      ibv_recv_wr.wr_id(wr, context);
      ibv_recv_wr.sg_list(wr, MemorySegment.ofAddress(sgl));
      ibv_recv_wr.num_sge(wr, nsge);
      long bad = arena.allocate(Long.BYTES).address();
      long srq = srq(id);
      rdma_seterrno(
          "rdma_post_recvv",
          srq != 0
              ? new SharedReceiveQueueCalls(srq, false).ibv_post_srq_recv(wr.address(), bad)
              : new QueuePairCalls(qp(id), false).ibv_post_recv(wr.address(), bad));
    }
  }

  /** Posts a send from several buffers. */
  public void rdma_post_sendv(long id, long context, long sgl, int nsge, int flags) {
    try (Arena arena = Arena.ofConfined()) {
      MemorySegment wr = sendRequest(arena, context, sgl, nsge, flags, rdma_h.IBV_WR_SEND());
      post("rdma_post_sendv", id, wr, arena);
    }
  }

  /** Posts a read of remote memory into several buffers. */
  public void rdma_post_readv(
      long id, long context, long sgl, int nsge, int flags, long remoteAddress, int rkey) {
    try (Arena arena = Arena.ofConfined()) {
      MemorySegment wr = sendRequest(arena, context, sgl, nsge, flags, rdma_h.IBV_WR_RDMA_READ());
      remote(wr, remoteAddress, rkey);
      post("rdma_post_readv", id, wr, arena);
    }
  }

  /** Posts a write of remote memory from several buffers. */
  public void rdma_post_writev(
      long id, long context, long sgl, int nsge, int flags, long remoteAddress, int rkey) {
    try (Arena arena = Arena.ofConfined()) {
      MemorySegment wr = sendRequest(arena, context, sgl, nsge, flags, rdma_h.IBV_WR_RDMA_WRITE());
      remote(wr, remoteAddress, rkey);
      post("rdma_post_writev", id, wr, arena);
    }
  }

  /** Posts a receive into one buffer. */
  public void rdma_post_recv(long id, long context, long address, long length, long mr) {
    MemorySegment region = Memory.at(mr, ibv_mr.sizeof());
    long start = address - ibv_mr.addr(region).address();
    if (start < 0 || length < 0 || start > ibv_mr.length(region) - length) {
      throw new VerbsException("rdma_post_recv", Errno.EINVAL, "the buffer leaves its region");
    }
    try (Arena arena = Arena.ofConfined()) {
      rdma_post_recvv(id, context, entry(arena, address, length, mr), 1);
    }
  }

  /** Posts a send from one buffer; inline data needs no region. */
  public void rdma_post_send(long id, long context, long address, long length, long mr, int flags) {
    try (Arena arena = Arena.ofConfined()) {
      rdma_post_sendv(id, context, entry(arena, address, length, mr), 1, flags);
    }
  }

  /** Posts a read of remote memory into one buffer. */
  public void rdma_post_read(
      long id,
      long context,
      long address,
      long length,
      long mr,
      int flags,
      long remoteAddress,
      int rkey) {
    try (Arena arena = Arena.ofConfined()) {
      long sgl = entry(arena, address, length, mr);
      rdma_post_readv(id, context, sgl, 1, flags, remoteAddress, rkey);
    }
  }

  /** Posts a write of remote memory from one buffer; inline data needs no region. */
  public void rdma_post_write(
      long id,
      long context,
      long address,
      long length,
      long mr,
      int flags,
      long remoteAddress,
      int rkey) {
    try (Arena arena = Arena.ofConfined()) {
      long sgl = entry(arena, address, length, mr);
      rdma_post_writev(id, context, sgl, 1, flags, remoteAddress, rkey);
    }
  }

  /** Posts a datagram to a queue pair behind an address handle. */
  public void rdma_post_ud_send(
      long id,
      long context,
      long address,
      long length,
      long mr,
      int flags,
      long ah,
      int remoteQpn) {
    try (Arena arena = Arena.ofConfined()) {
      long sgl = entry(arena, address, length, mr);
      MemorySegment wr = sendRequest(arena, context, sgl, 1, flags, rdma_h.IBV_WR_SEND());
      MemorySegment ud = ibv_send_wr.wr.ud(ibv_send_wr.wr(wr));
      ibv_send_wr.wr.ud.ah(ud, MemorySegment.ofAddress(ah));
      ibv_send_wr.wr.ud.remote_qpn(ud, remoteQpn);
      ibv_send_wr.wr.ud.remote_qkey(ud, rdma_h.RDMA_UDP_QKEY());
      post("rdma_post_ud_send", id, wr, arena);
    }
  }

  /** Waits for one completion of the identifier's send queue. */
  public int rdma_get_send_comp(long id, long wc) {
    MemorySegment cmId = Memory.at(id, rdma_cm_id.sizeof());
    return completion(
        rdma_cm_id.send_cq(cmId).address(), rdma_cm_id.send_cq_channel(cmId).address(), wc);
  }

  /** Waits for one completion of the identifier's receive queue. */
  public int rdma_get_recv_comp(long id, long wc) {
    MemorySegment cmId = Memory.at(id, rdma_cm_id.sizeof());
    return completion(
        rdma_cm_id.recv_cq(cmId).address(), rdma_cm_id.recv_cq_channel(cmId).address(), wc);
  }

  private int completion(long cq, long channel, long wc) {
    CompletionQueueCalls calls = new CompletionQueueCalls(cq, false);
    try (Arena arena = Arena.ofConfined()) {
      MemorySegment event = arena.allocate(2 * Long.BYTES, Long.BYTES);
      while (true) {
        int polled = calls.ibv_poll_cq(1, wc);
        if (polled == 0) {
          rdma_seterrno("ibv_req_notify_cq", calls.ibv_req_notify_cq(0));
          // One may have come between the look and the arming.
          polled = calls.ibv_poll_cq(1, wc);
        }
        if (polled != 0) {
          rdma_seterrno("ibv_poll_cq", Math.min(polled, 0));
          return polled;
        }
        verbs.ibv_get_cq_event(channel, event.address(), event.address() + Long.BYTES);
        verbs.ibv_ack_cq_events(cq, 1);
      }
    }
  }

  private static MemorySegment sendRequest(
      Arena arena, long context, long sgl, int nsge, int flags, int opcode) {
    MemorySegment wr = ibv_send_wr.allocate(arena);
    ibv_send_wr.wr_id(wr, context);
    ibv_send_wr.sg_list(wr, MemorySegment.ofAddress(sgl));
    ibv_send_wr.num_sge(wr, nsge);
    ibv_send_wr.opcode(wr, opcode);
    ibv_send_wr.send_flags(wr, flags);
    return wr;
  }

  private static void remote(MemorySegment wr, long address, int rkey) {
    MemorySegment rdma = ibv_send_wr.wr.rdma(ibv_send_wr.wr(wr));
    ibv_send_wr.wr.rdma.remote_addr(rdma, address);
    ibv_send_wr.wr.rdma.rkey(rdma, rkey);
  }

  private static void post(String function, long id, MemorySegment wr, Arena arena) {
    long bad = arena.allocate(Long.BYTES).address();
    rdma_seterrno(function, new QueuePairCalls(qp(id), false).ibv_post_send(wr.address(), bad));
  }

  private static long entry(Arena arena, long address, long length, long mr) {
    MemorySegment sge = ibv_sge.allocate(arena);
    ibv_sge.addr(sge, address);
    ibv_sge.length(sge, Math.toIntExact(length));
    ibv_sge.lkey(sge, mr == 0 ? 0 : ibv_mr.lkey(Memory.at(mr, ibv_mr.sizeof())));
    return sge.address();
  }

  private static long pd(long id) {
    return rdma_cm_id.pd(Memory.at(id, rdma_cm_id.sizeof())).address();
  }

  private static long qp(long id) {
    return rdma_cm_id.qp(Memory.at(id, rdma_cm_id.sizeof())).address();
  }

  private static long srq(long id) {
    return rdma_cm_id.srq(Memory.at(id, rdma_cm_id.sizeof())).address();
  }
}
