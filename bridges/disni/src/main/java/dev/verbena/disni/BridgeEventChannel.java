package dev.verbena.disni;

import com.ibm.disni.verbs.RdmaEventChannel;
import dev.verbena.cm.ConnectionEvent;
import dev.verbena.cm.ConnectionId;
import dev.verbena.cm.EventChannel;
import dev.verbena.cm.EventType;
import dev.verbena.cm.PortSpace;
import java.io.IOException;
import java.time.Duration;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;

/** An event channel of RDMA CM, and the identifiers on it. */
final class BridgeEventChannel extends RdmaEventChannel {
  private static final System.Logger LOG = System.getLogger("dev.verbena.disni");

  private final EventChannel channel;
  private final Map<ConnectionId, BridgeCmId> ids = new ConcurrentHashMap<>();

  BridgeEventChannel(EventChannel channel) throws IOException {
    super(channel.descriptor());
    this.channel = channel;
  }

  /** Returns the channel of a call's argument. */
  static BridgeEventChannel of(RdmaEventChannel argument) throws IOException {
    BridgeEventChannel own = Failures.own(BridgeEventChannel.class, argument, "event channel");
    Failures.requireOpen(own.isOpen(), "event channel");
    return own;
  }

  BridgeCmId createId(PortSpace space) throws IOException {
    return add(Failures.io(() -> channel.createId(space)));
  }

  private BridgeCmId add(ConnectionId id) throws IOException {
    BridgeCmId own = new BridgeCmId(this, id);
    ids.put(id, own);
    return own;
  }

  void forget(ConnectionId id) {
    ids.remove(id);
  }

  /**
   * Waits for an event.
   *
   * @param millis as of {@code poll(2)}: negative for no limit
   * @return the event, or null if none came in time
   */
  BridgeCmEvent awaitEvent(int millis) throws IOException {
    ConnectionEvent event =
        Failures.io(
            () ->
                switch (Integer.signum(millis)) {
                  case -1 -> channel.take();
                  case 0 -> channel.poll();
                  default -> channel.poll(Duration.ofMillis(millis));
                });
    return event == null ? null : translate(event);
  }

  private BridgeCmEvent translate(ConnectionEvent event) throws IOException {
    if (event.isFailure()) {
      // DiSNI's endpoints pass over such an event, and wait on.
      LOG.log(System.Logger.Level.WARNING, event.toString());
    }
    BridgeCmId id =
        event.type() == EventType.CONNECT_REQUEST ? add(event.id()) : ids.get(event.id());
    return new BridgeCmEvent(event, event.listener().map(ids::get).orElse(null), id);
  }

  /** Destroys it, after its identifiers. */
  int destroy() throws IOException {
    Failures.run(channel::close);
    ids.values().forEach(BridgeCmId::close);
    ids.clear();
    close();
    return 0;
  }
}
