package dev.verbena.soft.transport;

import dev.verbena.soft.wire.Opcode;
import dev.verbena.soft.wire.Packet;

/**
 * Scalable reliable datagrams (SRD) between software devices: as reliable and as unordered as those
 * of Amazon's EFA, over packets of this project.
 */
final class SrdTransport implements TransportService {
  private final SrdRequester requester;
  private final SrdResponder responder;

  SrdTransport(SoftQueuePair queuePair) {
    requester = new SrdRequester(queuePair);
    responder = new SrdResponder(queuePair);
  }

  @Override
  public void modified(int mask) {
    requester.modified(mask);
    responder.modified(mask);
  }

  @Override
  public boolean send() {
    return requester.send();
  }

  @Override
  public void receive(Packet packet) {
    if (Opcode.isResponse(packet.opcode)) {
      requester.receive(packet);
    } else {
      responder.receive(packet);
    }
  }

  @Override
  public boolean isDrained() {
    return requester.isDrained();
  }

  @Override
  public void stop() {
    requester.stop();
    responder.stop();
  }
}
