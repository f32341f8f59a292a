package dev.verbena.soft.transport;

import dev.verbena.soft.wire.Opcode;
import dev.verbena.soft.wire.Packet;

/** The reliable connection (RC) service: a requester and a responder. */
final class ConnectedTransport implements TransportService {
  private final Requester requester;
  private final Responder responder;

  ConnectedTransport(SoftQueuePair queuePair) {
    requester = new Requester(queuePair);
    responder = new Responder(queuePair);
  }

  @Override
  public void modified(int mask) {
    requester.modified(mask);
    responder.modified(mask);
  }

  @Override
  public boolean send() {
    boolean responded = responder.respond();
    boolean sent = requester.send();
    return responded || sent;
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
