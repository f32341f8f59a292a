package dev.verbena.messages;

import static java.nio.charset.StandardCharsets.UTF_8;

import dev.verbena.cm.ConnectionException;
import dev.verbena.cm.Listener;
import dev.verbena.soft.SoftNetwork;
import dev.verbena.testing.Await;
import dev.verbena.testing.Program;
import dev.verbena.verbs.WorkRequestException;
import java.io.IOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.time.Duration;
import java.util.List;

/** The peer of connections in a JVM of its own, which does what the messages of each client say. */
final class PeerProcess implements AutoCloseable {
  private static final int SERVICE = 7493;
  private static final String LISTENING = "listening";

  /** What the client asks for, in a message. */
  enum Order {
    /** To send a message of one byte. */
    SEND,
    /** To close the connection. */
    CLOSE,
    /** To end its process without closing anything. */
    END,
    /** To receive no more. */
    IDLE;

    byte[] message() {
      return name().getBytes(UTF_8);
    }
  }

  private final Program program;
  private final InetSocketAddress address;
  private boolean serves = true;

  private PeerProcess(Program program, InetSocketAddress address) {
    this.program = program;
    this.address = address;
  }

  /** Starts a peer on a device of this host, or with a port of UDP that is not 0 on its own. */
  static PeerProcess start(Ends.Place place, InetAddress address, int udpPort)
      throws IOException, InterruptedException {
    Program program =
        Program.start(
            Program.java(PeerProcess.class, place.name(), address.getHostAddress(), "" + udpPort));
    program.says(LISTENING);
    return new PeerProcess(program, new InetSocketAddress(address, SERVICE));
  }

  public static void main(String[] args) throws Exception {
    Ends.Place place = Ends.Place.valueOf(args[0]);
    InetAddress address = InetAddress.getByName(args[1]);
    int udpPort = Integer.parseInt(args[2]);
    if (udpPort == 0) {
      serve(place, address);
    } else {
      SoftNetwork network = SoftNetwork.overUdp(new InetSocketAddress(address, udpPort));
      network.call(
          () -> {
            serve(place, address);
            return null;
          });
    }
  }

  private static void serve(Ends.Place place, InetAddress address) throws InterruptedException {
    Listener listener = Listener.open(new InetSocketAddress(address, SERVICE));
    System.out.println(LISTENING);
    while (true) {
      Connection client = Connection.accept(listener, place.settings.withTimeout(Await.LIMIT));
      Thread.ofPlatform().start(() -> serve(client));
    }
  }

  private static void serve(Connection client) {
    try (client) {
      for (byte[] order = client.receive(); order != null; order = client.receive()) {
        switch (Order.valueOf(new String(order, UTF_8))) {
          case SEND -> client.send(new byte[1]);
          case CLOSE -> {
            return;
          }
          case END -> System.exit(0);
          case IDLE -> Await.pass(Duration.ofDays(1), "until it is killed");
        }
      }
    } catch (ConnectionException | WorkRequestException e) {
      System.out.println("a client's connection ended: " + e);
    } catch (InterruptedException e) {
      throw new AssertionError(e);
    }
  }

  Connection connect(ConnectionSettings settings, InetAddress from) throws InterruptedException {
    return Connection.connect(
        address,
        settings.withTimeout(Await.LIMIT).withLocalAddress(new InetSocketAddress(from, 0)));
  }

  String address() {
    return address.getAddress().getHostAddress();
  }

  /** Whether it accepts connections: it was not told to end, killed or stopped. */
  boolean serves() {
    return serves;
  }

  /** Tells it to end without closing anything. */
  void end(Connection client) throws InterruptedException {
    serves = false;
    client.send(Order.END.message());
  }

  void kill() throws InterruptedException {
    serves = false;
    program.kill();
  }

  /** Stops the process; what the kernel does for it goes on. */
  void stop() throws Exception {
    serves = false;
    try (Program kill = Program.start(List.of("kill", "-STOP", "" + program.process().pid()))) {
      var _ = kill.endsWell();
    }
  }

  @Override
  public void close() {
    try {
      program.close();
    } catch (IOException e) {
      throw new AssertionError(e);
    }
  }
}
