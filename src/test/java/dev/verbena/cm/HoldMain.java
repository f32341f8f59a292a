package dev.verbena.cm;

import dev.verbena.messages.Connection;
import dev.verbena.messages.ConnectionSettings;
import dev.verbena.testing.Await;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.time.Duration;

/**
 * A server that goes so far with a client and then does nothing more, until it is killed.
 *
 * <p>Arguments: how far, the address, the port.
 */
final class HoldMain {
  /** Printed when it listens. */
  static final String LISTENING = "LISTENING";

  /** How far; printed when it is reached. */
  enum Stage {
    /** A connection request has arrived, and is neither accepted nor rejected. */
    ASKED,
    /** A {@link Connection} was accepted, and has sent a message of one byte. */
    MESSAGE
  }

  private HoldMain() {}

  public static void main(String[] args) throws Exception {
    Stage stage = Stage.valueOf(args[0]);
    InetAddress address = InetAddress.getByName(args[1]);
    InetSocketAddress local = new InetSocketAddress(address, Integer.parseInt(args[2]));
    switch (stage) {
      case ASKED -> awaitRequest(local);
      case MESSAGE -> sendMessage(local);
    }
    System.out.println(stage);
    Await.pass(Duration.ofDays(1), "until it is killed");
  }

  private static void awaitRequest(InetSocketAddress local) throws Exception {
    EventChannel channel = EventChannel.open();
    ConnectionId listener = channel.createId(PortSpace.TCP);
    listener.bind(local);
    listener.listen(4);
    System.out.println(LISTENING);
    Identifiers.next(channel, EventType.CONNECT_REQUEST);
  }

  private static void sendMessage(InetSocketAddress local) throws InterruptedException {
    Listener listener = Listener.open(local);
    System.out.println(LISTENING);
    Connection.accept(listener.take(), ConnectionSettings.DEFAULT.withTimeout(Await.LIMIT))
        .send(new byte[1]);
  }
}
