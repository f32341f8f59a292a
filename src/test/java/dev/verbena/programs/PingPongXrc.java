package dev.verbena.programs;

import dev.verbena.tools.command.Link;
import dev.verbena.tools.command.Patience;
import dev.verbena.tools.command.Peer;
import dev.verbena.values.AccessFlag;
import dev.verbena.values.QueuePairCapacity;
import dev.verbena.values.QueuePairType;
import dev.verbena.verbs.CompletionQueue;
import dev.verbena.verbs.Completions;
import dev.verbena.verbs.Context;
import dev.verbena.verbs.GidChoice;
import dev.verbena.verbs.MemoryRegion;
import dev.verbena.verbs.ProtectionDomain;
import dev.verbena.verbs.QueuePair;
import dev.verbena.verbs.ReceiveList;
import dev.verbena.verbs.SendList;
import dev.verbena.verbs.SharedReceiveQueue;
import dev.verbena.verbs.XrcDomain;
import java.io.IOException;
import java.io.PrintWriter;
import java.lang.foreign.Arena;

/**
 * Extended reliable connections (XRC): one queue pair sends, another receives to the shared receive
 * queue that the sender names. The peer may be ibv_xsrq_pingpong with one client.
 */
final class PingPongXrc {
  private static final byte[] END = {'E', 'N', 'D', 0};

  private final PingPongOptions options;
  private final CompletionQueue received;
  private final CompletionQueue sent;
  private final SharedReceiveQueue queue;
  private final QueuePair receiver;
  private final QueuePair sender;
  private final ReceiveList receive = new ReceiveList(1, 1);
  private final SendList send = new SendList(1, 1);
  private final MemoryRegion region;
  private final Completions completions = new Completions(1);

  PingPongXrc(PingPongOptions options, Context context, Arena arena) {
    this.options = options;
    XrcDomain xrcDomain = XrcDomain.open(context);
    ProtectionDomain domain = context.allocateProtectionDomain();
    region = domain.registerMemory(arena.allocate(options.size()), AccessFlag.LOCAL_WRITE);
    received = context.createCompletionQueue(1);
    // One send is outstanding at a time.
    sent = context.completionQueue(1).withoutCapacityWarning().create();
    queue = SharedReceiveQueue.builder(domain, 1).xrc(xrcDomain, received).create();
    receiver = QueuePair.builder(xrcDomain).create();
    sender =
        QueuePair.builder(domain, QueuePairType.XRC_SEND)
            .sendCompletions(sent)
            .capacity(
                QueuePairCapacity.of(options.iterations())
                    .withReceiveRequests(0)
                    .withReceiveSges(0))
            .create();
    options.apply(receiver).access(AccessFlag.REMOTE_WRITE, AccessFlag.REMOTE_READ).init();
    options.apply(sender).psn(receiver.localAddress().psn()).init();
    receive.local(0, region, 0, options.size());
    Link.require(queue.post(receive), 1);
  }

  /** Connects to the peer, and exchanges messages with it. */
  void play(String host, PrintWriter out) throws IOException {
    try (Peer peer =
        host == null
            ? Peer.accept(options.tcpPort(), options.timeout())
            : Peer.connect(host, options.tcpPort(), options.timeout())) {
      out.println("   local: " + address());
      XrcAddress remote =
          XrcAddress.of(peer.exchange(address().bytes(), "the address of its queue pairs"));
      out.println("  remote: " + remote);
      receiver.connect(remote.ofSender(options.mtu()));
      sender.connect(remote.ofReceiver(options.mtu()));
      bounce(host == null, remote.sharedQueue());
      // The last message may not have arrived at the peer.
      peer.exchange(END, "that it is done ('END')");
      out.println("success");
    }
  }

  private XrcAddress address() {
    GidChoice choice = receiver.setup().choice();
    return new XrcAddress(
        choice.lid(),
        receiver.number(),
        sender.number(),
        receiver.localAddress().psn(),
        queue.number(),
        choice.gid());
  }

  /** Exchanges the messages. The server sends first; only the last send is signaled. */
  private void bounce(boolean first, int remoteQueue) {
    int posted = 0;
    if (first) {
      posted = send(posted, remoteQueue);
    }
    for (int count = 0; count < options.iterations(); count++) {
      await(received);
      Link.require(queue.post(receive), 1);
      if (posted < options.iterations()) {
        posted = send(posted, remoteQueue);
      }
    }
    await(sent);
  }

  private int send(int posted, int remoteQueue) {
    send.send(0).local(region, 0, options.size()).sharedReceiveQueue(remoteQueue);
    if (posted + 1 == options.iterations()) {
      send.signaled(0);
    }
    if (sender.post(send) == 0) {
      throw new IllegalStateException("the queue of " + sender + " is full");
    }
    return posted + 1;
  }

  private void await(CompletionQueue completionQueue) {
    Patience.spin(() -> completionQueue.poll(completions) > 0, options.patience());
    if (!completions.isSuccess(0)) {
      throw new IllegalStateException(completions.describe(0));
    }
  }
}
