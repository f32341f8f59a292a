package dev.verbena.testing;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.net.ConnectException;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.net.Socket;
import java.time.Duration;
import java.util.concurrent.CompletableFuture;

/**
 * A TCP connection between two programs that carries some bytes in each direction, and is cut as
 * soon as both ends send more.
 */
public final class CutWire implements AutoCloseable {
  private static final int ATTEMPTS = 100;

  private final ServerSocket entry = new ServerSocket(0);
  private final CompletableFuture<Void> cut;

  public CutWire(String serverPort, int bytes) throws IOException {
    cut = inBackground(() -> carry(Integer.parseInt(serverPort), bytes));
  }

  private static CompletableFuture<Void> inBackground(Runnable task) {
    return CompletableFuture.runAsync(task, Thread::startVirtualThread);
  }

  /** Where the client is to connect to. */
  public String port() {
    return Integer.toString(entry.getLocalPort());
  }

  private void carry(int serverPort, int bytes) {
    try (Socket client = entry.accept();
        Socket server = connect(serverPort)) {
      CompletableFuture<Void> answers = inBackground(() -> carry(server, client, bytes));
      carry(client, server, bytes);
      answers.join();
    } catch (IOException | InterruptedException e) {
      throw new IllegalStateException(e);
    }
  }

  /** Each byte at once: what comes after it may be an answer to it. */
  private static void carry(Socket from, Socket to, int bytes) {
    try {
      for (int i = 0; i < bytes; i++) {
        to.getOutputStream().write(from.getInputStream().read());
      }
      from.getInputStream().read(); // Cut not before both ends are about to exchange the next.
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }

  private static Socket connect(int port) throws IOException, InterruptedException {
    for (int attempt = 0; ; attempt++) {
      try {
        return new Socket(InetAddress.getLoopbackAddress(), port);
      } catch (ConnectException e) {
        if (attempt == ATTEMPTS) {
          throw e;
        }
        Await.pass(Duration.ofMillis(200), "the server does not listen yet");
      }
    }
  }

  @Override
  public void close() throws IOException {
    cut.join();
    entry.close();
  }
}
