package dev.verbena.tools;

import java.io.IOException;
import java.net.ConnectException;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.net.Socket;
import java.util.concurrent.CompletableFuture;

/** A TCP connection between two programs that is cut after some bytes in each direction. */
final class CutWire implements AutoCloseable {
  private static final int ATTEMPTS = 100;

  private final ServerSocket entry = new ServerSocket(0);
  private final CompletableFuture<Void> cut;

  CutWire(String serverPort, int bytes) throws IOException {
    cut = CompletableFuture.runAsync(() -> carry(Integer.parseInt(serverPort), bytes));
  }

  /** Where the client is to connect to. */
  String port() {
    return Integer.toString(entry.getLocalPort());
  }

  private void carry(int serverPort, int bytes) {
    try (Socket client = entry.accept();
        Socket server = connect(serverPort)) {
      server.getOutputStream().write(client.getInputStream().readNBytes(bytes));
      client.getOutputStream().write(server.getInputStream().readNBytes(bytes));
    } catch (IOException | InterruptedException e) {
      throw new IllegalStateException(e);
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
        Thread.sleep(200);
      }
    }
  }

  @Override
  public void close() throws IOException {
    cut.join();
    entry.close();
  }
}
