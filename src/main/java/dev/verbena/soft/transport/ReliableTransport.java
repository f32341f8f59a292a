package dev.verbena.soft.transport;

import dev.verbena.soft.wire.Opcode;
import dev.verbena.soft.wire.Packet;

/** The reliable services, RC, XRC and SRD: a requester, and a responder that answers its peer. */
record ReliableTransport(TransportService requester, TransportService responder)
    implements TransportService {
  @Override
  public void modified(int mask) {
    requester.modified(mask);
    responder.modified(mask);
  }

  @Override
  public boolean send() {
    boolean responded = responder.send();
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
  public void stop() {
    requester.stop();
    responder.stop();
  }
}
