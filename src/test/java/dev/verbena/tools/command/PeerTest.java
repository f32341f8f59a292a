package dev.verbena.tools.command;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.verbena.testing.Await;
import dev.verbena.testing.Ports;
import java.io.IOException;
import java.net.ServerSocket;
import java.net.Socket;
import java.time.Duration;
import java.util.concurrent.CompletableFuture;
import org.junit.jupiter.api.Test;

/** What both ends of a program say to each other over TCP. */
class PeerTest {
  private static final Duration PATIENCE = Duration.ofMinutes(5);

  @Test
  void bytesThatArriveSinglyAreAssembled() throws Exception {
    byte[] record = {1, 2, 3, 4, 5, 6, 7, 8};
    try (ServerSocket server = new ServerSocket(0)) {
      CompletableFuture<byte[]> received =
          CompletableFuture.supplyAsync(() -> exchange(server.getLocalPort(), record));
      try (Socket other = server.accept()) {
        other.setTcpNoDelay(true);
        assertArrayEquals(record, other.getInputStream().readNBytes(record.length));
        for (byte b : record) {
          other.getOutputStream().write(b);
          Await.pass(Duration.ofMillis(5), "so that the bytes arrive singly");
        }
        assertArrayEquals(record, received.get());
      }
    }
  }

  @Test
  void earlyEndOfThePeerIsAnError() throws Exception {
    try (ServerSocket server = new ServerSocket(0);
        Peer peer = Peer.connect("localhost", server.getLocalPort(), PATIENCE)) {
      try (Socket other = server.accept()) {
        other.getOutputStream().write(1);
      }
      IOException e = assertThrows(IOException.class, () -> peer.receive(2, "its answer"));
      assertEquals("the peer closed the TCP connection before it sent its answer", e.getMessage());
    }
  }

  @Test
  void failedConnectionIsExplained() {
    String port = Ports.free();
    IOException refused =
        assertThrows(
            IOException.class, () -> Peer.connect("localhost", Integer.parseInt(port), PATIENCE));
    IOException unknown =
        assertThrows(IOException.class, () -> Peer.connect("no.such.host.", 1, PATIENCE));
    assertEquals(
        "Couldn't connect to localhost:" + port + ": Connection refused", refused.getMessage());
    String start = "Couldn't connect to no.such.host.:1: no.such.host.: ";
    assertTrue(unknown.getMessage().startsWith(start), unknown.getMessage());
  }

  private static byte[] exchange(int port, byte[] own) {
    try (Peer peer = Peer.connect("localhost", port, PATIENCE)) {
      return peer.exchange(own, "its record");
    } catch (IOException e) {
      throw new IllegalStateException(e);
    }
  }
}
