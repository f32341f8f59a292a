package dev.verbena.soft.transport;

import dev.verbena.raw.rdma_h;
import dev.verbena.soft.device.CStruct;
import dev.verbena.soft.device.MemoryKey;
import dev.verbena.soft.device.SoftDevice;
import dev.verbena.soft.wire.Opcode;
import dev.verbena.soft.wire.Packet;
import dev.verbena.soft.wire.PacketPool;
import dev.verbena.soft.wire.Psn;

/** The unreliable connection (UC) service: a message of which a packet is lost is dropped. */
final class UnreliableConnection implements TransportService {
  private static final int BURST = 32;

  private final SoftQueuePair queuePair;
  private final SendQueue sends;
  private final PacketPool packets;
  private final Receiver receiver;
  private int nextPsn;
  private int packet;
  private int expected;

  /** Whether packets are dropped until a new message begins. */
  private boolean dropping;

  /** Whether a message is under way, and which. */
  private boolean inMessage;

  private boolean writing;
  private long writeAddress;
  private int writeKey;
  private long writeLength;
  private long written;
  private int mtu;
  private int accessFlags;

  UnreliableConnection(SoftQueuePair queuePair) {
    this.queuePair = queuePair;
    sends = queuePair.sends;
    packets = queuePair.device.packets;
    receiver = new Receiver(queuePair);
  }

  @Override
  public void modified(int mask) {
    CStruct attr = queuePair.attributes;
    mtu = 128 << attr.getInt("path_mtu");
    if ((mask & rdma_h.IBV_QP_SQ_PSN()) != 0) {
      nextPsn = attr.getInt("sq_psn") & Psn.MASK;
    }
    if ((mask & rdma_h.IBV_QP_RQ_PSN()) != 0) {
      expected = attr.getInt("rq_psn") & Psn.MASK;
    }
    accessFlags = attr.getInt("qp_access_flags");
  }

  @Override
  public void stop() {
    receiver.flush();
    inMessage = false;
    dropping = false;
    packet = 0;
  }

  @Override
  public boolean send() {
    for (int i = 0; i < BURST; i++) {
      if (!sendNext()) {
        return false;
      }
    }
    return true;
  }

  private boolean sendNext() {
    long position = sends.retired();
    if (position == sends.posted() || !queuePair.canSend()) {
      return false;
    }
    SoftSendRequest request = sends.at(position);
    if (packet == 0) {
      if (queuePair.state == rdma_h.IBV_QPS_SQD()) {
        return false;
      }
      sends.started = position + 1;
      int status = begin(request);
      if (status != 0 || request.isLocal()) {
        finish(request, status);
        return status == 0;
      }
    }
    Packet next = packets.take().reset(0, queuePair.remoteNumber, nextPsn);
    if (!Segmentation.fill(next, request, packet, mtu, Opcode.UC, queuePair.domain, false)) {
      packets.release(next);
      finish(request, rdma_h.IBV_WC_LOC_PROT_ERR());
      return false;
    }
    nextPsn = Psn.plus(nextPsn, 1);
    queuePair.transmit(next);
    if (++packet == request.packets) {
      finish(request, rdma_h.IBV_WC_SUCCESS());
    }
    return true;
  }

  private int begin(SoftSendRequest request) {
    if (request.isLocal()) {
      return LocalOperations.run(queuePair, request);
    }
    long length = request.length();
    request.packets = Segmentation.count(length, mtu);
    if (length > SoftDevice.MAX_MESSAGE) {
      return rdma_h.IBV_WC_LOC_LEN_ERR();
    }
    if (!request.isSend() && !request.isWrite()) {
      return rdma_h.IBV_WC_LOC_QP_OP_ERR();
    }
    return request.inlineLength >= 0 || request.elements.isAllowed(queuePair.domain, 0)
        ? 0
        : rdma_h.IBV_WC_LOC_PROT_ERR();
  }

  private void finish(SoftSendRequest request, int status) {
    packet = 0;
    queuePair.retire(request, status);
    if (status != rdma_h.IBV_WC_SUCCESS()) {
      queuePair.sendFailed();
    }
    queuePair.checkDrained();
  }

  @Override
  public void receive(Packet arrived) {
    int operation = Opcode.operation(arrived.opcode);
    boolean begins = Opcode.begins(operation);
    boolean gap = arrived.psn != expected;
    expected = Psn.plus(arrived.psn, 1);
    if (gap && !begins) {
      drop();
      return;
    }
    if (begins) {
      abandon();
      dropping = false;
    } else if (dropping || !inMessage || writing != Opcode.isWrite(operation)) {
      drop();
      return;
    }
    queuePair.communicationEstablished();
    if (Opcode.isSend(operation)) {
      receiveSend(arrived, operation, begins);
    } else if (Opcode.isWrite(operation)) {
      receiveWrite(arrived, operation, begins);
    } else {
      drop();
    }
  }

  /** Drops the rest of the message. */
  private void drop() {
    abandon();
    dropping = true;
  }

  /** A message that is not complete: its receive is used again for the next one. */
  private void abandon() {
    inMessage = false;
  }

  private void receiveSend(Packet arrived, int operation, boolean begins) {
    if (begins) {
      if (receiver.isOpen()) {
        receiver.restart();
      } else if (!receiver.open(0)) {
        drop();
        return;
      }
    }
    inMessage = true;
    writing = false;
    int status = receiver.append(arrived.payload, arrived.length);
    if (status != 0) {
      receiver.fail(status);
      inMessage = false;
      queuePair.toError();
      return;
    }
    if (Opcode.ends(operation)) {
      inMessage = false;
      int flags = Opcode.hasImmediate(operation) ? rdma_h.IBV_WC_WITH_IMM() : 0;
      receiver.complete(rdma_h.IBV_WC_RECV(), receiver.filled(), arrived, flags);
    }
  }

  private void receiveWrite(Packet arrived, int operation, boolean begins) {
    if (begins) {
      writeAddress = arrived.address;
      writeKey = arrived.remoteKey;
      writeLength = Integer.toUnsignedLong(arrived.dmaLength);
      written = 0;
    }
    MemoryKey key =
        queuePair.remoteMemory(
            writeKey,
            queuePair.domain,
            rdma_h.IBV_ACCESS_REMOTE_WRITE(),
            writeAddress,
            writeLength);
    long end = written + arrived.length;
    boolean allowed =
        (accessFlags & rdma_h.IBV_ACCESS_REMOTE_WRITE()) != 0
            && (Opcode.ends(operation) ? end == writeLength : end <= writeLength)
            && (writeLength == 0 || (key != null && key.write(arrived, writeAddress + written)));
    if (!allowed) {
      drop();
      return;
    }
    inMessage = true;
    writing = true;
    written = end;
    if (Opcode.ends(operation)) {
      inMessage = false;
      queuePair.count(rdma_h.IBV_QP_ATTACH_COMP_CNTR_OP_REMOTE_RDMA_WRITE(), false, writeLength);
      if (Opcode.hasImmediate(operation) && (receiver.isOpen() || receiver.open(0))) {
        receiver.complete(
            rdma_h.IBV_WC_RECV_RDMA_WITH_IMM(), writeLength, arrived, rdma_h.IBV_WC_WITH_IMM());
      }
    }
  }
}
