package dev.verbena.testing;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.net.DatagramSocket;
import java.net.ServerSocket;

/** Ports for a test's own use. */
public final class Ports {
  private Ports() {}

  /** A port that is free for TCP and for UDP. */
  public static String free() {
    try (ServerSocket tcp = new ServerSocket(0);
        DatagramSocket udp = new DatagramSocket(tcp.getLocalPort())) {
      return Integer.toString(udp.getLocalPort());
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }
}
