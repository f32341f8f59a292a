package dev.verbena.disni;

import com.ibm.disni.verbs.RdmaCm;
import com.ibm.disni.verbs.RdmaCmEvent;
import com.ibm.disni.verbs.RdmaCmEvent.EventType;
import com.ibm.disni.verbs.RdmaCmId;
import com.ibm.disni.verbs.RdmaEventChannel;
import dev.verbena.soft.SoftNetwork;
import java.io.IOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.UnknownHostException;

/** Two hosts with a software device each, as DiSNI's programs see them. */
final class Hosts implements AutoCloseable {
  /** No wait of these tests ends by its timeout; those of DiSNI are in milliseconds. */
  static final int LONG = 3_600_000;

  static final InetSocketAddress SERVER = new InetSocketAddress(address("192.0.2.2"), 1919);

  final SoftNetwork network = SoftNetwork.create();
  final RdmaEventChannel channel;

  Hosts() throws IOException {
    network.addDevice("soft0", address("192.0.2.1"));
    network.addDevice("soft1", address("192.0.2.2"));
    channel = openChannel();
  }

  /** Opens a channel, whose identifiers are on this network. */
  RdmaEventChannel openChannel() {
    return call(RdmaEventChannel::createEventChannel);
  }

  /** Calls code that sees this network only. */
  <T> T call(java.util.concurrent.Callable<T> code) {
    try {
      return network.call(code);
    } catch (Exception e) {
      throw new AssertionError(e);
    }
  }

  static InetAddress address(String text) {
    try {
      return InetAddress.getByName(text);
    } catch (UnknownHostException e) {
      throw new AssertionError(e);
    }
  }

  /** Returns the next event, which must be of a type. */
  static RdmaCmEvent expect(EventType type, RdmaEventChannel channel) throws IOException {
    RdmaCmEvent event = channel.getCmEvent(LONG);
    if (event == null || event.getEvent() != type.ordinal()) {
      throw new AssertionError(
          "expected "
              + type
              + ": "
              + (event == null ? null : EventType.values()[event.getEvent()]));
    }
    event.ackEvent();
    return event;
  }

  RdmaCmId listener() throws IOException {
    RdmaCmId listener = channel.createId(RdmaCm.RDMA_PS_TCP);
    listener.bindAddr(SERVER);
    listener.listen(8);
    return listener;
  }

  /** Returns an identifier that can connect to the server. */
  RdmaCmId resolved() throws IOException {
    RdmaCmId id = channel.createId(RdmaCm.RDMA_PS_TCP);
    id.resolveAddr(null, SERVER, LONG);
    expect(EventType.RDMA_CM_EVENT_ADDR_RESOLVED, channel);
    id.resolveRoute(LONG);
    expect(EventType.RDMA_CM_EVENT_ROUTE_RESOLVED, channel);
    return id;
  }

  @Override
  public void close() throws IOException {
    if (channel.isOpen()) {
      channel.destroyEventChannel();
    }
    network.close();
  }
}
