package dev.verbena.cm;

import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.util.List;

/** Listens on a device that is taken away, and tells. Argument: the device's address. */
final class RemovalMain {
  static final String READY = "ready";

  private RemovalMain() {}

  public static void main(String[] args) throws Exception {
    try (EventChannel channel = EventChannel.open()) {
      ConnectionId listener = channel.createId(PortSpace.TCP);
      listener.bind(new InetSocketAddress(InetAddress.getByName(args[0]), 0));
      listener.listen(1);
      System.out.println(READY);
      ConnectionEvent event = Identifiers.next(channel, EventType.DEVICE_REMOVAL);
      System.out.println(List.of(event.type(), event.id() == listener, event.isFailure()));
    }
  }
}
