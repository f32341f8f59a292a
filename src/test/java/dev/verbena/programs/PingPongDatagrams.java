package dev.verbena.programs;

import dev.verbena.address.AddressVector;
import dev.verbena.address.GlobalRoute;
import dev.verbena.address.QueuePairAddress;
import dev.verbena.values.QueuePairType;
import dev.verbena.verbs.Context;
import dev.verbena.verbs.GidChoice;
import dev.verbena.verbs.QueuePair;
import dev.verbena.verbs.SendRequest;
import java.lang.foreign.Arena;

/** An end that sends datagrams: each request has the address of the peer. */
final class PingPongDatagrams extends PingPongEnd {
  /** The size of the global routing header (GRH) before each received datagram. */
  private static final int ROUTING_HEADER = 40;

  private static final int QUEUE_KEY = 0x11111111;

  PingPongDatagrams(PingPongOptions options, Context context, Arena arena) {
    super(options, context, arena, QueuePairType.UD, 1, ROUTING_HEADER);
  }

  @Override
  void connect(QueuePair queuePair, QueuePairAddress remote, SendRequest request) {
    queuePair.activate();
    request.to(
        queuePair.domain().createAddressHandle(path(queuePair, remote)),
        remote.number(),
        QUEUE_KEY);
  }

  private static AddressVector path(QueuePair queuePair, QueuePairAddress remote) {
    GidChoice local = queuePair.setup().choice();
    int port = queuePair.setup().port().number();
    return local.isGlobal()
        ? AddressVector.global(port, new GlobalRoute(remote.gid(), local.index()))
        : AddressVector.local(port, remote.lid());
  }
}
