package dev.verbena.programs;

import dev.verbena.cm.Listener;
import dev.verbena.messages.Connection;
import dev.verbena.messages.ConnectionSettings;
import dev.verbena.testing.Await;
import java.net.InetSocketAddress;

/** A program that sends back what one client sends. Arguments: address and port to listen on. */
final class EchoMain {
  /** Printed when a client may connect. */
  static final String READY = "listening";

  private EchoMain() {}

  public static void main(String[] args) throws Exception {
    InetSocketAddress here = new InetSocketAddress(args[0], Integer.parseInt(args[1]));
    try (Listener listener = Listener.open(here)) {
      System.out.println(READY);
      try (Connection client =
          Connection.accept(listener.take(), ConnectionSettings.DEFAULT.withTimeout(Await.LIMIT))) {
        for (byte[] message = client.receive(); message != null; message = client.receive()) {
          client.send(message);
        }
      }
    }
  }
}
