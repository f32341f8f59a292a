package dev.verbena.soft.transport;

import dev.verbena.raw.rdma_h;
import dev.verbena.soft.wire.PacketPool;

/**
 * The transport services without a connection: each request is one message, which is sent at once.
 */
abstract class UnconnectedTransport implements TransportService {
  private static final int BURST = 32;

  final SoftQueuePair queuePair;
  final PacketPool packets;
  private final SendQueue sends;

  UnconnectedTransport(SoftQueuePair queuePair) {
    this.queuePair = queuePair;
    sends = queuePair.sends;
    packets = queuePair.device.packets;
  }

  /** Sends a message: the completion status. */
  abstract int send(SoftSendRequest request);

  @Override
  public final boolean send() {
    for (int i = 0; i < BURST; i++) {
      if (sends.isEmpty() || queuePair.state != rdma_h.IBV_QPS_RTS()) {
        return false;
      }
      SoftSendRequest request = sends.at(sends.retired());
      sends.started = sends.retired() + 1;
      int status = send(request);
      queuePair.retire(request, status);
      queuePair.checkDrained();
      if (status != rdma_h.IBV_WC_SUCCESS()) {
        queuePair.sendFailed();
        return false;
      }
    }
    return true;
  }
}
