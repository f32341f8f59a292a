package dev.verbena.cm;

import dev.verbena.VerbsException;
import dev.verbena.internal.foreign.AfterFailure;
import dev.verbena.values.QueuePairCapacity;
import dev.verbena.verbs.ProtectionDomain;
import java.net.InetSocketAddress;
import java.util.function.Function;

/**
 * What an established connection consists of. Its receive requests are posted before the peer can
 * send.
 *
 * @param peer what the peer has told of itself
 */
record ConnectionSetup(
    Endpoint endpoint, ConnectionSettings settings, Inbox inbox, Outbox outbox, Greeting peer) {
  /** Exchanges private data with the peer. */
  private interface Handshake {
    byte[] perform(byte[] greeting) throws InterruptedException;
  }

  /**
   * Connects to a listener.
   *
   * @param maker makes a connection of the result; if this fails, the endpoint is closed
   */
  static <C> C connect(
      InetSocketAddress peer, ConnectionSettings settings, Function<ConnectionSetup, C> maker)
      throws InterruptedException {
    Deadline deadline = Deadline.after(settings.timeout());
    Endpoint endpoint = Endpoint.resolve(peer, settings);
    return establish(
        endpoint,
        settings,
        greeting -> endpoint.connect(settings.parameters(), greeting, deadline).privateData(),
        maker);
  }

  /**
   * Accepts a connection request.
   *
   * @param maker makes a connection of the result; if this fails, the endpoint is closed
   */
  static <C> C accept(
      Endpoint request, ConnectionSettings settings, Function<ConnectionSetup, C> maker)
      throws InterruptedException {
    return establish(
        request,
        settings,
        greeting -> {
          byte[] question = request.request().orElseThrow().privateData();
          settings.setPassive(request.id().options());
          request.accept(settings.parameters(), greeting, settings.timeout());
          return question;
        },
        maker);
  }

  private static <C> C establish(
      Endpoint endpoint,
      ConnectionSettings settings,
      Handshake handshake,
      Function<ConnectionSetup, C> maker)
      throws InterruptedException {
    try {
      int size = settings.messageSize();
      endpoint.onAddressChange(settings.addressChange());
      ConnectionQueues queues = endpoint.id().queues();
      queues.createQueuePairOnOneChannel(
          QueuePairCapacity.of(settings.sends()).withReceiveRequests(settings.receives()));
      Inbox inbox;
      Outbox outbox;
      try {
        ProtectionDomain domain = endpoint.id().domain();
        inbox = new Inbox(queues.transfers(), domain, settings.receives(), size);
        outbox = new Outbox(queues.transfers(), domain, settings.sends(), size);
      } catch (OutOfMemoryError e) {
        throw settings.tooLarge(e);
      }
      byte[] answer = handshake.perform(Greeting.of(settings.privateData(), size));
      return maker.apply(
          new ConnectionSetup(endpoint, settings, inbox, outbox, Greeting.read(answer)));
    } catch (VerbsException e) {
      RuntimeException cause = endpoint.causeOf(e);
      AfterFailure.close(cause, endpoint::close);
      throw cause;
    } catch (Throwable t) {
      AfterFailure.close(t, endpoint::close);
      throw t;
    }
  }
}
