package dev.verbena.testing;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.net.BindException;
import java.net.DatagramSocket;
import java.net.ServerSocket;

/** Ports for a test's own use. */
public final class Ports {
  private static final int ATTEMPTS = 100;

  private Ports() {}

  /** A port that is free for TCP and for UDP. */
  public static String free() {
    BindException last = null;
    for (int i = 0; i < ATTEMPTS; i++) {
      try (ServerSocket tcp = new ServerSocket(0);
          DatagramSocket udp = new DatagramSocket(tcp.getLocalPort())) {
        return Integer.toString(udp.getLocalPort());
      } catch (BindException e) {
        last = e; // Another program has the port for UDP.
      } catch (IOException e) {
        throw new UncheckedIOException(e);
      }
    }
    throw new UncheckedIOException(last);
  }
}
