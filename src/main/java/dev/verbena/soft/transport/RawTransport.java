package dev.verbena.soft.transport;

import dev.verbena.raw.rdma_h;
import dev.verbena.soft.device.FrameTarget;
import dev.verbena.soft.device.ReceiveRequest;
import dev.verbena.soft.device.SoftPort;
import dev.verbena.soft.wire.EthernetFrame;
import dev.verbena.soft.wire.Opcode;
import dev.verbena.soft.wire.Packet;

/** The service of raw packet queue pairs: requests are Ethernet frames, headers included. */
final class RawTransport extends UnconnectedTransport {
  /** The longest frame. */
  static final int MAX_FRAME = Packet.CAPACITY;

  private final EthernetFrame frame = new EthernetFrame();
  private final TcpSegments segments;
  private final FrameTarget target;
  private SoftPort port;

  RawTransport(SoftQueuePair queuePair) {
    super(queuePair);
    segments = new TcpSegments(this);
    QueuePairChoices choices = queuePair.choices;
    target = choices.spreading() == null ? receiver(choices) : choices.spreading();
  }

  private FrameReceiver receiver(QueuePairChoices choices) {
    FrameReceiver receiver = new Receiving();
    receiver.stripsTags = choices.has(rdma_h.IBV_QP_CREATE_CVLAN_STRIPPING());
    receiver.keepsCheckSequence = choices.has(rdma_h.IBV_QP_CREATE_SCATTER_FCS());
    return receiver;
  }

  /** Receives into the queue pair's own queue or the shared one. */
  private final class Receiving extends FrameReceiver {
    Receiving() {
      super(queuePair, queuePair.domain, queuePair.receiveCompletions, queuePair.number);
    }

    @Override
    int maxElements() {
      return queuePair.maxReceiveElements(queuePair.sharedQueue);
    }

    @Override
    boolean take(ReceiveRequest into) {
      return queuePair.canReceive() && queuePair.takeReceive(queuePair.sharedQueue, into);
    }

    @Override
    void failed() {
      queuePair.toError();
    }
  }

  /** Where the frames go that flow rules lead to the queue pair. */
  FrameTarget target() {
    return target;
  }

  @Override
  public void modified(int mask) {
    if ((mask & rdma_h.IBV_QP_PORT()) != 0) {
      port = queuePair.device.ports.get(queuePair.attributes.getByte("port_num") - 1);
    }
  }

  @Override
  public void stop() {
    // Nothing is under way: a frame is sent and received at once.
  }

  @Override
  public void receive(Packet packet) {
    throw new AssertionError("frames arrive through flow rules");
  }

  @Override
  int send(SoftSendRequest request) {
    if (request.opcode == rdma_h.IBV_WR_TSO()) {
      return segments.send(request);
    }
    long length = request.length();
    if (request.opcode != rdma_h.IBV_WR_SEND()) {
      return rdma_h.IBV_WC_LOC_QP_OP_ERR();
    }
    if (length < EthernetFrame.HEADER || length > MAX_FRAME) {
      return rdma_h.IBV_WC_LOC_LEN_ERR();
    }
    Packet packet = packet();
    packet.length = (int) length;
    if (!isReadable(request)
        || !request.gather(queuePair.domain, 0, packet.payload, (int) length)) {
      packets.release(packet);
      return rdma_h.IBV_WC_LOC_PROT_ERR();
    }
    if (request.has(rdma_h.IBV_SEND_IP_CSUM())) {
      frame.at(packet.payload, packet.length).fillChecksums();
    }
    transmit(packet);
    return rdma_h.IBV_WC_SUCCESS();
  }

  boolean isReadable(SoftSendRequest request) {
    return request.inlineLength >= 0 || request.elements.isAllowed(queuePair.domain, 0);
  }

  Packet packet() {
    return packets.take().reset(Opcode.RAW, 0, 0);
  }

  void transmit(Packet packet) {
    queuePair.device.fabric.send(port, packet);
  }
}
