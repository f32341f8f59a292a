package dev.verbena.soft.transport;

import dev.verbena.raw.rdma_h;
import dev.verbena.soft.device.ReceivedGrh;
import dev.verbena.soft.wire.Opcode;
import dev.verbena.soft.wire.Packet;
import dev.verbena.soft.wire.Psn;

/** The unreliable datagram (UD) service. */
final class DatagramTransport extends UnconnectedTransport {
  private final Receiver receiver;
  private int nextPsn;
  private int queueKey;

  DatagramTransport(SoftQueuePair queuePair) {
    super(queuePair);
    receiver = new Receiver(queuePair);
  }

  @Override
  public void modified(int mask) {
    if ((mask & rdma_h.IBV_QP_SQ_PSN()) != 0) {
      nextPsn = queuePair.attributes.getInt("sq_psn") & Psn.MASK;
    }
    queueKey = queuePair.attributes.getInt("qkey");
  }

  @Override
  public void stop() {
    receiver.flush();
  }

  @Override
  int send(SoftSendRequest request) {
    if (!request.isSend()
        || request.opcode == rdma_h.IBV_WR_SEND_WITH_INV()
        || request.handle == null
        || request.handle.domain.root() != queuePair.domain.root()) {
      return rdma_h.IBV_WC_LOC_QP_OP_ERR();
    }
    long length = request.length();
    if (length > queuePair.device.mtu) {
      return rdma_h.IBV_WC_LOC_LEN_ERR();
    }
    if (request.inlineLength < 0 && !request.elements.isAllowed(queuePair.domain, 0)) {
      return rdma_h.IBV_WC_LOC_PROT_ERR();
    }
    boolean immediate = request.opcode == rdma_h.IBV_WR_SEND_WITH_IMM();
    Packet packet = packets.take();
    packet.reset(
        Opcode.UD | (immediate ? Opcode.SEND_ONLY_IMM : Opcode.SEND_ONLY),
        request.remoteQueuePair & Psn.MASK,
        nextPsn);
    nextPsn = Psn.plus(nextPsn, 1);
    packet.immediate = request.immediate;
    packet.solicited = request.has(rdma_h.IBV_SEND_SOLICITED());
    // The highest bit asks for the queue pair's own Q_Key.
    packet.queueKey = request.remoteQueueKey < 0 ? queueKey : request.remoteQueueKey;
    packet.sourceNumber = queuePair.number;
    packet.length = (int) length;
    if (!request.gather(queuePair.domain, 0, packet.payload, packet.length)) {
      packets.release(packet);
      return rdma_h.IBV_WC_LOC_PROT_ERR();
    }
    request.handle.vector.address(packet);
    queuePair.device.fabric.send(request.handle.vector.port(), packet);
    return rdma_h.IBV_WC_SUCCESS();
  }

  @Override
  public void receive(Packet packet) {
    if (packet.queueKey != queueKey || !receiver.open(0)) {
      return;
    }
    int status = receiver.append(header(packet), ReceivedGrh.SIZE);
    if (status == 0) {
      status = receiver.append(packet.payload, packet.length);
    }
    if (status == 0) {
      int operation = Opcode.operation(packet.opcode);
      int flags = Opcode.hasImmediate(operation) ? rdma_h.IBV_WC_WITH_IMM() : 0;
      receiver.complete(
          rdma_h.IBV_WC_RECV(), receiver.filled(), packet, flags | rdma_h.IBV_WC_GRH());
    } else {
      receiver.fail(status);
      if (status == rdma_h.IBV_WC_LOC_PROT_ERR()) {
        queuePair.toError();
      }
    }
  }

  private final Packet scratch = new Packet();

  private long header(Packet packet) {
    ReceivedGrh.write(packet, scratch.payload);
    return scratch.payload;
  }
}
