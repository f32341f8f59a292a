package dev.verbena.soft.transport;

import dev.verbena.internal.time.Time;
import dev.verbena.raw.rdma_h;
import dev.verbena.soft.wire.Packet;

/**
 * The requester of a DC initiator: that of a reliable connection whose peer changes. A request to
 * another target begins when all before it are acknowledged. Each change begins a session, whose
 * number is higher than those of all sessions before, also of a process before this one: it tells
 * the target which packets are late.
 */
final class DcRequester extends Requester {
  private final SoftQueuePair queuePair;
  private final SendQueue sends;
  private long session = Time.wallClock();
  private boolean isConnected;
  private long accessKey;

  DcRequester(SoftQueuePair queuePair) {
    super(queuePair);
    this.queuePair = queuePair;
    sends = queuePair.sends;
  }

  @Override
  public void stop() {
    super.stop();
    isConnected = false;
  }

  @Override
  int check(SoftSendRequest request) {
    return request.handle == null || request.handle.domain.root() != queuePair.domain.root()
        ? rdma_h.IBV_WC_LOC_QP_OP_ERR()
        : super.check(request);
  }

  @Override
  boolean reaches(SoftSendRequest request) {
    if (isConnected
        && request.remoteQueuePair == queuePair.remoteNumber
        && request.accessKey == accessKey
        && request.handle.vector.equals(queuePair.path)) {
      return true;
    }
    if (!sends.isDrained()) {
      return false;
    }
    queuePair.path = request.handle.vector;
    queuePair.remoteNumber = request.remoteQueuePair;
    accessKey = request.accessKey;
    session++;
    isConnected = true;
    return true;
  }

  @Override
  void transmit(Packet packet) {
    packet.sourceNumber = queuePair.number;
    packet.session = session;
    packet.accessKey = accessKey;
    packet.oldestPsn = unacknowledged;
    super.transmit(packet);
  }

  @Override
  public void receive(Packet packet) {
    if (isConnected
        && packet.session == session
        && packet.sourceNumber == queuePair.remoteNumber
        && queuePair.path.leadsTo(packet)) {
      super.receive(packet);
    }
  }
}
