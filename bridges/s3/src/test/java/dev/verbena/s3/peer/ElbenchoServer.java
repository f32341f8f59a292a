package dev.verbena.s3.peer;

import java.io.BufferedReader;
import java.io.IOException;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;

/** The process of {@code s3rdma-server}, the test server of elbencho, on a port of this host. */
public final class ElbenchoServer implements AutoCloseable {
  private final int port;
  private final Process process;

  /**
   * Starts a server, whose objects are files in a folder of their own.
   *
   * @param program the program
   * @param options other options
   * @throws IOException if it cannot be started
   */
  public ElbenchoServer(Path program, String... options) throws IOException {
    try (ServerSocket socket = new ServerSocket(0, 1, InetAddress.getLoopbackAddress())) {
      port = socket.getLocalPort();
    }
    List<String> command = new ArrayList<>(List.of(program.toString()));
    command.addAll(List.of("--dir", Files.createTempDirectory("elbencho").toString()));
    command.addAll(List.of("--port", String.valueOf(port)));
    command.addAll(List.of(options));
    process = new ProcessBuilder(command).redirectError(ProcessBuilder.Redirect.INHERIT).start();
    BufferedReader output = process.inputReader();
    String line;
    do {
      line = output.readLine();
      if (line == null) {
        throw new IllegalStateException("no server: " + command);
      }
    } while (!line.startsWith("Listening"));
  }

  /** {@return the endpoint} */
  public String endpoint() {
    return "127.0.0.1:" + port;
  }

  @Override
  public void close() {
    process.destroy();
  }
}
