package dev.verbena.programs;

import dev.verbena.cm.ConnectionParameters;
import dev.verbena.cm.Endpoint;
import dev.verbena.cm.Transfers;
import dev.verbena.tools.command.Failure;
import dev.verbena.tools.command.Patience;
import dev.verbena.values.QueuePairCapacity;
import dev.verbena.verbs.AsyncEvent;
import dev.verbena.verbs.AsyncEvents;
import dev.verbena.verbs.Completions;
import dev.verbena.verbs.MemoryRegion;
import dev.verbena.verbs.QueuePair;
import java.io.PrintWriter;
import java.lang.foreign.Arena;
import java.time.Duration;

/** A connection that exchanges messages, and can migrate to another path. */
final class MigratingConnection implements AutoCloseable {
  private static final ConnectionParameters PARAMETERS =
      ConnectionParameters.DEFAULT.withReadDepth(2).withRetryCount(5).withRnrRetryCount(5);

  private final Endpoint endpoint;
  private final Duration patience;
  private final PrintWriter out;
  private final Arena arena = Arena.ofShared();
  private final QueuePair queuePair;
  private final Transfers transfers;
  private final MemoryRegion inbox;
  private final MemoryRegion outbox;
  private final Completions completions = new Completions(1);
  private final AsyncEvents.Listening events;

  /**
   * Creates a connection on a resolved address or a request, which is not closed if its device does
   * not support migration.
   *
   * @param pause the pause of the peer before it sends, in milliseconds
   */
  MigratingConnection(Endpoint endpoint, int length, int pause, PrintWriter out) {
    AlternatePort.require(endpoint.id().context());
    this.endpoint = endpoint;
    this.patience = patience(length, pause);
    this.out = out;
    queuePair = endpoint.id().queues().createQueuePair(QueuePairCapacity.of(1));
    transfers = endpoint.id().queues().transfers();
    inbox = transfers.registerMessages(arena.allocate(length));
    outbox = transfers.registerMessages(arena.allocate(length));
    postReceive();
    events = AsyncEvents.of(endpoint.id().context()).listen(this::tell);
  }

  static Duration patience(int length, int pause) {
    return Patience.forBytes(length).plusMillis(pause);
  }

  private void tell(AsyncEvent event) {
    out.println(
        switch (event.type()) {
          case PATH_MIG -> "QP path migrated";
          case PATH_MIG_ERR -> "QP path migration error";
          default -> "Async Event " + event.type().code();
        });
  }

  /** Connects, and returns the private data of the server. */
  byte[] connect(byte[] privateData) throws InterruptedException {
    return endpoint.connect(PARAMETERS, privateData, patience).privateData();
  }

  /** Accepts, and returns the private data of the client. */
  byte[] accept(byte[] privateData) throws InterruptedException {
    endpoint.accept(PARAMETERS, privateData, patience);
    return endpoint.request().orElseThrow().privateData();
  }

  AlternatePort alternatePort() {
    return AlternatePort.of(endpoint.id().context(), portNumber());
  }

  private int portNumber() {
    return endpoint.id().portNumber();
  }

  /** The port of the primary path. */
  AlternatePort currentPort() {
    return AlternatePort.of(endpoint.id().context().port(portNumber()));
  }

  QueuePair queuePair() {
    return queuePair;
  }

  void send() throws InterruptedException {
    requirePosted(transfers.send(0, outbox, 0, outbox.length()));
    transfers.awaitSends(completions, patience);
    requireGood("send");
  }

  void receive() throws InterruptedException {
    transfers.awaitReceives(completions, patience);
    requireGood("receive");
    postReceive();
  }

  private void postReceive() {
    requirePosted(transfers.receive(0, inbox, 0, inbox.length()));
  }

  private static void requirePosted(boolean posted) {
    if (!posted) {
      throw new Failure("the queue is full");
    }
  }

  private void requireGood(String what) {
    if (completions.count() == 0) {
      throw new Failure("no " + what + " was done within " + patience.toSeconds() + " s");
    }
    if (!completions.isSuccess(0)) {
      throw new Failure(completions.describe(0));
    }
  }

  @Override
  public void close() {
    events.close();
    endpoint.close();
    arena.close();
  }
}
