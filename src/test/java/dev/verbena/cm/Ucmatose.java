package dev.verbena.cm;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNull;

import dev.verbena.messages.Connection;
import dev.verbena.testing.Program;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.util.List;

/** ucmatose: messages from the server, then as many from the client; the server disconnects. */
final class Ucmatose implements PeerProgram {
  private static final int COUNT = 5;
  private static final int SIZE = 100;

  @Override
  public String name() {
    return "ucmatose";
  }

  @Override
  public int port() {
    return 7482;
  }

  @Override
  public List<String> server(Host host) {
    return List.of(
        "ucmatose", "-b", host.digits(), "-p", "" + port(), "-C", "" + COUNT, "-S", "" + SIZE);
  }

  @Override
  public List<String> client(Host host, Host server) {
    return Program.with(server(host), "-s", server.digits());
  }

  @Override
  public String proof() {
    return "data transfers complete";
  }

  @Override
  public void connect(InetAddress from, InetSocketAddress to) throws Exception {
    try (Connection server = PeerProgram.connect(from, to, SIZE)) {
      for (int i = 0; i < COUNT; i++) {
        assertEquals(SIZE, server.receive(SOON).length);
      }
      for (int i = 0; i < COUNT; i++) {
        server.send(new byte[SIZE]);
      }
      assertNull(server.receive(SOON), "the end of the connection was expected");
    }
  }

  @Override
  public void serve(Listener listener) throws Exception {
    try (Connection client = PeerProgram.accept(listener, SIZE)) {
      for (int i = 0; i < COUNT; i++) {
        client.send(new byte[SIZE]);
      }
      for (int i = 0; i < COUNT; i++) {
        assertEquals(SIZE, client.receive(SOON).length);
      }
    }
  }
}
