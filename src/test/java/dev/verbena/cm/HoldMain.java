package dev.verbena.cm;

import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.time.Duration;

/**
 * A listener that goes so far with a peer and then does nothing more: neither accepts nor answers,
 * until it is killed.
 *
 * <p>Arguments: how far, the address, the port.
 */
final class HoldMain {
  /** How far; each is printed when it is reached. */
  enum Stage {
    LISTENING,
    ASKED,
    CONNECTED,
    MESSAGE
  }

  private final Stage last;

  private HoldMain(Stage last) {
    this.last = last;
  }

  public static void main(String[] args) throws Exception {
    HoldMain hold = new HoldMain(Stage.valueOf(args[0]));
    if (hold.last == Stage.MESSAGE) {
      hold.sendMessage(new InetSocketAddress(args[1], Integer.parseInt(args[2])));
    }
    EventChannel channel = EventChannel.open();
    ConnectionId listener = channel.createId(PortSpace.TCP);
    InetAddress address = InetAddress.getByName(args[1]);
    listener.bind(new InetSocketAddress(address, Integer.parseInt(args[2])));
    listener.listen(4);
    hold.reached(Stage.LISTENING);
    ConnectionId request = RdmaCmTest.next(channel, EventType.CONNECT_REQUEST).id();
    hold.reached(Stage.ASKED);
    request.queues().createQueuePair(RdmaCmTest.SMALL);
    request.accept();
    RdmaCmTest.next(channel, EventType.ESTABLISHED);
    hold.reached(Stage.CONNECTED);
  }

  private void sendMessage(InetSocketAddress local) throws InterruptedException {
    Listener listener = Listener.open(local);
    System.out.println(Stage.LISTENING);
    Connection.accept(listener).send(new byte[1]);
    reached(Stage.MESSAGE);
  }

  private void reached(Stage stage) throws InterruptedException {
    System.out.println(stage);
    if (stage == last) {
      Thread.sleep(Duration.ofMinutes(10));
    }
  }
}
