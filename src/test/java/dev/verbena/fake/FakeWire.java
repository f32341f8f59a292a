package dev.verbena.fake;

import dev.verbena.Errno;
import dev.verbena.fake.FakeDevice.Completion;
import dev.verbena.fake.FakeDevice.Cq;
import dev.verbena.fake.FakeDevice.Piece;
import dev.verbena.fake.FakeDevice.Qp;
import dev.verbena.fake.FakeDevice.Receive;
import dev.verbena.fake.FakeDevice.ReceiveQueue;
import dev.verbena.fake.FakeDevice.Region;
import dev.verbena.fake.FakeDevice.Request;
import dev.verbena.internal.Memory;
import dev.verbena.raw.ibv_recv_wr;
import dev.verbena.raw.ibv_sge;
import dev.verbena.raw.rdma_h;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.util.ArrayList;
import java.util.List;

/** Carries out what was posted, under the device's lock. */
final class FakeWire {
  /** No status: a send waits until its peer has a receive for it. */
  private static final int WAIT = -1;

  private static final int GRH = 40;

  private final FakeDevice device;
  private final FakeCompletions completions;
  private final FakeEvents events;
  private final FakeFlows flows;

  FakeWire(FakeDevice device, FakeCompletions completions, FakeEvents events, FakeFlows flows) {
    this.device = device;
    this.completions = completions;
    this.events = events;
    this.flows = flows;
  }

  // Reading what C's structs say

  static Request request(CStruct wr, boolean datagram) {
    int flags = wr.getInt("send_flags");
    int opcode = wr.getInt("opcode");
    List<Piece> pieces = pieces(wr.getLong("sg_list"), wr.getInt("num_sge"));
    boolean atomic =
        opcode == rdma_h.IBV_WR_ATOMIC_CMP_AND_SWP()
            || opcode == rdma_h.IBV_WR_ATOMIC_FETCH_AND_ADD();
    return new Request(
        wr.getLong("wr_id"),
        opcode,
        flags,
        wr.getInt("imm_data"),
        pieces,
        (flags & rdma_h.IBV_SEND_INLINE()) != 0 ? MemorySegment.ofArray(gather(pieces)) : null,
        wr.getLong("wr.rdma.remote_addr"),
        atomic ? wr.getInt("wr.atomic.rkey") : wr.getInt("wr.rdma.rkey"),
        wr.getLong("wr.atomic.compare_add"),
        wr.getLong("wr.atomic.swap"),
        datagram ? wr.getInt("wr.ud.remote_qpn") : 0,
        datagram ? wr.getInt("wr.ud.remote_qkey") : 0);
  }

  private static List<Piece> pieces(long list, int number) {
    List<Piece> pieces = new ArrayList<>(number);
    for (int i = 0; i < number; i++) {
      CStruct sge = CStruct.at(list + i * ibv_sge.sizeof(), ibv_sge.layout());
      pieces.add(new Piece(sge.getLong("addr"), sge.getInt("length"), sge.getInt("lkey")));
    }
    return pieces;
  }

  private static byte[] gather(List<Piece> pieces) {
    byte[] data = new byte[pieces.stream().mapToInt(Piece::length).sum()];
    int at = 0;
    for (Piece piece : pieces) {
      MemorySegment from = Memory.at(piece.address(), piece.length());
      MemorySegment.copy(from, ValueLayout.JAVA_BYTE, 0, data, at, piece.length());
      at += piece.length();
    }
    return data;
  }

  /** Queues a list of receives; the result is an errno. */
  int receive(ReceiveQueue queue, long first, long badWr) {
    for (long at = first; at != 0; ) {
      CStruct wr = CStruct.at(at, ibv_recv_wr.layout());
      int number = wr.getInt("num_sge");
      int errno =
          queue.entries.size() >= queue.capacity
              ? Errno.ENOMEM
              : number > queue.maxSge ? Errno.EINVAL : 0;
      if (errno != 0) {
        Memory.putLong(badWr, at);
        return errno;
      }
      queue.entries.add(new Receive(wr.getLong("wr_id"), pieces(wr.getLong("sg_list"), number)));
      at = wr.getLong("next");
    }
    return 0;
  }

  // Carrying it out

  /** Carries out all that can be, whoever posted it. */
  void runAll() {
    boolean moved = !device.isHeld();
    while (moved) {
      moved = false;
      for (Qp qp : List.copyOf(device.queuePairs.all())) {
        moved |= run(qp);
      }
    }
  }

  private boolean run(Qp qp) {
    boolean moved = false;
    while (qp.state == rdma_h.IBV_QPS_RTS() && !qp.sends.isEmpty()) {
      Request request = qp.sends.peek();
      int status =
          qp.type == rdma_h.IBV_QPT_UD()
              ? datagram(qp, request)
              : qp.type == rdma_h.IBV_QPT_RAW_PACKET()
                  ? packet(qp, request)
                  : connected(qp, request);
      if (status == WAIT) {
        return moved;
      }
      moved = true;
      qp.sends.remove();
      boolean succeeded = status == rdma_h.IBV_WC_SUCCESS();
      if (!succeeded || qp.allSignaled || (request.flags() & rdma_h.IBV_SEND_SIGNALED()) != 0) {
        complete(qp.sendCq, qp, request.wrId(), status, opcode(request), length(request), 0, 0);
      }
      if (!succeeded) {
        toError(qp);
      }
    }
    return moved;
  }

  private int connected(Qp qp, Request request) {
    Qp peer = device.byNumber(qp.attributes.getInt("dest_qp_num"));
    boolean reads = isRead(request);
    if (request.inline() == null
        && !allowed(qp, request.pieces(), reads ? rdma_h.IBV_ACCESS_LOCAL_WRITE() : 0)) {
      return rdma_h.IBV_WC_LOC_PROT_ERR();
    }
    if (peer == null
        || (peer.state != rdma_h.IBV_QPS_RTR() && peer.state != rdma_h.IBV_QPS_RTS())) {
      return rdma_h.IBV_WC_RETRY_EXC_ERR();
    }
    int opcode = request.opcode();
    if (opcode == rdma_h.IBV_WR_SEND()
        || opcode == rdma_h.IBV_WR_SEND_WITH_IMM()
        || opcode == rdma_h.IBV_WR_SEND_WITH_INV()) {
      return send(qp, peer, request);
    } else if (opcode == rdma_h.IBV_WR_RDMA_WRITE()
        || opcode == rdma_h.IBV_WR_RDMA_WRITE_WITH_IMM()) {
      return write(qp, peer, request);
    } else if (reads) {
      return read(peer, request);
    }
    return rdma_h.IBV_WC_LOC_QP_OP_ERR();
  }

  private static boolean isRead(Request request) {
    return request.opcode() == rdma_h.IBV_WR_RDMA_READ() || isAtomic(request);
  }

  private static boolean isAtomic(Request request) {
    return request.opcode() == rdma_h.IBV_WR_ATOMIC_CMP_AND_SWP()
        || request.opcode() == rdma_h.IBV_WR_ATOMIC_FETCH_AND_ADD();
  }

  private int send(Qp qp, Qp peer, Request request) {
    Receive receive = peer.receives.entries.peek();
    if (receive == null) {
      int retries = qp.attributes.getByte("rnr_retry");
      return retries == 7 ? WAIT : rdma_h.IBV_WC_RNR_RETRY_EXC_ERR();
    }
    take(peer);
    byte[] data = data(request);
    if (!allowed(peer, receive.pieces(), rdma_h.IBV_ACCESS_LOCAL_WRITE())) {
      complete(peer.recvCq, peer, receive.wrId(), rdma_h.IBV_WC_LOC_PROT_ERR(), recv(), 0, 0, 0);
      toError(peer);
      return rdma_h.IBV_WC_REM_OP_ERR();
    }
    if (data.length > receive.pieces().stream().mapToInt(Piece::length).sum()) {
      complete(peer.recvCq, peer, receive.wrId(), rdma_h.IBV_WC_LOC_LEN_ERR(), recv(), 0, 0, 0);
      toError(peer);
      return rdma_h.IBV_WC_REM_INV_REQ_ERR();
    }
    scatter(data, receive.pieces());
    int flags =
        request.opcode() == rdma_h.IBV_WR_SEND_WITH_IMM()
            ? rdma_h.IBV_WC_WITH_IMM()
            : request.opcode() == rdma_h.IBV_WR_SEND_WITH_INV() ? rdma_h.IBV_WC_WITH_INV() : 0;
    received(peer, receive, recv(), data.length, request, flags, qp.number);
    return rdma_h.IBV_WC_SUCCESS();
  }

  private int write(Qp qp, Qp peer, Request request) {
    boolean immediate = request.opcode() == rdma_h.IBV_WR_RDMA_WRITE_WITH_IMM();
    if (immediate && peer.receives.entries.isEmpty()) {
      return WAIT;
    }
    byte[] data = data(request);
    Region region = remote(peer, request, data.length, rdma_h.IBV_ACCESS_REMOTE_WRITE());
    if (region == null) {
      return refused(peer);
    }
    long to = region.translate(request.remoteAddress());
    if (data.length > 0) {
      Memory.at(to, data.length).copyFrom(MemorySegment.ofArray(data));
    }
    if (immediate) {
      Receive receive = take(peer);
      int opcode = rdma_h.IBV_WC_RECV_RDMA_WITH_IMM();
      received(peer, receive, opcode, data.length, request, rdma_h.IBV_WC_WITH_IMM(), qp.number);
    }
    return rdma_h.IBV_WC_SUCCESS();
  }

  private int read(Qp peer, Request request) {
    int length = length(request);
    boolean atomic = isAtomic(request);
    int access = atomic ? rdma_h.IBV_ACCESS_REMOTE_ATOMIC() : rdma_h.IBV_ACCESS_REMOTE_READ();
    Region region = remote(peer, request, atomic ? Long.BYTES : length, access);
    if (region == null) {
      return refused(peer);
    }
    long from = region.translate(request.remoteAddress());
    byte[] data = new byte[length];
    if (length > 0) {
      MemorySegment.copy(Memory.at(from, length), ValueLayout.JAVA_BYTE, 0, data, 0, length);
    }
    if (atomic) {
      if (length != Long.BYTES || from % Long.BYTES != 0) {
        toError(peer);
        return rdma_h.IBV_WC_REM_INV_REQ_ERR();
      }
      long old = Memory.getLong(from);
      boolean add = request.opcode() == rdma_h.IBV_WR_ATOMIC_FETCH_AND_ADD();
      if (add) {
        Memory.putLong(from, old + request.compareAdd());
      } else if (old == request.compareAdd()) {
        Memory.putLong(from, request.swap());
      }
    }
    scatter(data, request.pieces());
    return rdma_h.IBV_WC_SUCCESS();
  }

  /** Sends a datagram, which arrives where somebody waits for it, and nowhere else. */
  private int datagram(Qp qp, Request request) {
    if (request.inline() == null && !allowed(qp, request.pieces(), 0)) {
      return rdma_h.IBV_WC_LOC_PROT_ERR();
    }
    Qp peer = device.byNumber(request.remoteQp());
    boolean arrives =
        peer != null
            && peer.type == rdma_h.IBV_QPT_UD()
            && peer.attributes.getInt("qkey") == request.qkey()
            && takes(peer);
    if (arrives) {
      byte[] data = data(request);
      byte[] packet = new byte[GRH + data.length];
      System.arraycopy(data, 0, packet, GRH, data.length);
      boolean immediate = request.opcode() == rdma_h.IBV_WR_SEND_WITH_IMM();
      int flags = rdma_h.IBV_WC_GRH() | (immediate ? rdma_h.IBV_WC_WITH_IMM() : 0);
      deliver(peer, packet, request, flags, qp.number);
    }
    return rdma_h.IBV_WC_SUCCESS();
  }

  /** Sends a frame out of one port and into the other, to whom rules bring it. */
  private int packet(Qp qp, Request request) {
    if (request.inline() == null && !allowed(qp, request.pieces(), 0)) {
      return rdma_h.IBV_WC_LOC_PROT_ERR();
    }
    byte[] data = data(request);
    if (data.length < FakeFrame.SHORTEST) {
      return rdma_h.IBV_WC_LOC_LEN_ERR();
    }
    FakeFrame frame = new FakeFrame(data);
    if ((request.flags() & rdma_h.IBV_SEND_IP_CSUM()) != 0) {
      frame.fillChecksums();
    }
    int flags = frame.checksumsAreRight() ? rdma_h.IBV_WC_IP_CSUM_OK() : 0;
    int port = FakeDevice.PORTS + 1 - qp.attributes.getByte("port_num");
    for (Qp peer : flows.receivers(frame, port)) {
      if (takes(peer)) {
        deliver(peer, frame.bytes(), request, flags, 0);
      }
    }
    return rdma_h.IBV_WC_SUCCESS();
  }

  private static boolean takes(Qp peer) {
    return (peer.state == rdma_h.IBV_QPS_RTR() || peer.state == rdma_h.IBV_QPS_RTS())
        && !peer.receives.entries.isEmpty();
  }

  /** Fills a receive, or fails it; the sender is told of neither. */
  private void deliver(Qp peer, byte[] packet, Request request, int flags, int source) {
    Receive receive = take(peer);
    if (!allowed(peer, receive.pieces(), rdma_h.IBV_ACCESS_LOCAL_WRITE())) {
      complete(peer.recvCq, peer, receive.wrId(), rdma_h.IBV_WC_LOC_PROT_ERR(), recv(), 0, 0, 0);
      toError(peer);
    } else if (packet.length > receive.pieces().stream().mapToInt(Piece::length).sum()) {
      complete(peer.recvCq, peer, receive.wrId(), rdma_h.IBV_WC_LOC_LEN_ERR(), recv(), 0, 0, 0);
    } else {
      scatter(packet, receive.pieces());
      received(peer, receive, recv(), packet.length, request, flags, source);
    }
  }

  private Receive take(Qp peer) {
    Receive receive = peer.receives.entries.remove();
    ReceiveQueue queue = peer.receives;
    if (queue.shared != 0 && queue.entries.size() < queue.limit) {
      queue.limit = 0;
      long context = peer.struct.getLong("context");
      events.announce(context, rdma_h.IBV_EVENT_SRQ_LIMIT_REACHED(), queue.shared);
    }
    return receive;
  }

  private static int recv() {
    return rdma_h.IBV_WC_RECV();
  }

  /** The peer's memory that a request names, or null if it may not. */
  private Region remote(Qp peer, Request request, long length, int access) {
    Region region = device.keys.get(request.rkey());
    boolean allowed =
        region != null
            && region.pd() == peer.pd
            && region.allows(access)
            && (peer.attributes.getInt("qp_access_flags") & access) == access
            && region.covers(request.remoteAddress(), length);
    return allowed ? region : null;
  }

  private int refused(Qp peer) {
    long context = peer.struct.getLong("context");
    events.announce(context, rdma_h.IBV_EVENT_QP_ACCESS_ERR(), peer.struct.address());
    toError(peer);
    return rdma_h.IBV_WC_REM_ACCESS_ERR();
  }

  private boolean allowed(Qp qp, List<Piece> pieces, int access) {
    return pieces.stream()
        .allMatch(
            piece -> {
              Region region = device.keys.get(piece.lkey());
              return region != null
                  && region.pd() == qp.pd
                  && region.allows(access)
                  && region.covers(piece.address(), piece.length());
            });
  }

  private byte[] data(Request request) {
    if (request.inline() != null) {
      return request.inline().toArray(ValueLayout.JAVA_BYTE);
    }
    return gather(
        request.pieces().stream().map(p -> new Piece(translate(p), p.length(), p.lkey())).toList());
  }

  private long translate(Piece piece) {
    return device.keys.get(piece.lkey()).translate(piece.address());
  }

  private void scatter(byte[] data, List<Piece> pieces) {
    int at = 0;
    for (Piece piece : pieces) {
      int length = Math.min(piece.length(), data.length - at);
      if (length > 0) {
        MemorySegment to = Memory.at(translate(piece), length);
        MemorySegment.copy(data, at, to, ValueLayout.JAVA_BYTE, 0, length);
        at += length;
      }
    }
  }

  private static int length(Request request) {
    return request.pieces().stream().mapToInt(Piece::length).sum();
  }

  private static int opcode(Request request) {
    int opcode = request.opcode();
    if (opcode == rdma_h.IBV_WR_RDMA_WRITE() || opcode == rdma_h.IBV_WR_RDMA_WRITE_WITH_IMM()) {
      return rdma_h.IBV_WC_RDMA_WRITE();
    } else if (opcode == rdma_h.IBV_WR_RDMA_READ()) {
      return rdma_h.IBV_WC_RDMA_READ();
    } else if (opcode == rdma_h.IBV_WR_ATOMIC_CMP_AND_SWP()) {
      return rdma_h.IBV_WC_COMP_SWAP();
    } else if (opcode == rdma_h.IBV_WR_ATOMIC_FETCH_AND_ADD()) {
      return rdma_h.IBV_WC_FETCH_ADD();
    }
    return rdma_h.IBV_WC_SEND();
  }

  // Telling the result

  private void received(
      Qp peer, Receive receive, int opcode, int length, Request request, int flags, int source) {
    completions.complete(
        peer.recvCq,
        new Completion(
            receive.wrId(),
            rdma_h.IBV_WC_SUCCESS(),
            opcode,
            length,
            request.immediate(),
            flags,
            peer.number,
            source),
        (request.flags() & rdma_h.IBV_SEND_SOLICITED()) != 0);
  }

  private void complete(
      Cq cq, Qp qp, long wrId, int status, int opcode, int length, int flags, int source) {
    completions.complete(
        cq, new Completion(wrId, status, opcode, length, 0, flags, qp.number, source), false);
  }

  private void toError(Qp qp) {
    qp.state = rdma_h.IBV_QPS_ERR();
    qp.struct.putInt("state", qp.state);
    flush(qp);
  }

  /** Gives back all that a queue pair in the error state still has. */
  void flush(Qp qp) {
    int status = rdma_h.IBV_WC_WR_FLUSH_ERR();
    while (!qp.sends.isEmpty()) {
      Request request = qp.sends.remove();
      complete(qp.sendCq, qp, request.wrId(), status, opcode(request), 0, 0, 0);
    }
    while (qp.receives.shared == 0 && !qp.receives.entries.isEmpty()) {
      complete(qp.recvCq, qp, qp.receives.entries.remove().wrId(), status, recv(), 0, 0, 0);
    }
  }
}
