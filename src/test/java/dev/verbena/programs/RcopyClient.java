package dev.verbena.programs;

import dev.verbena.Errno;
import java.io.EOFException;
import java.io.IOException;
import java.io.PrintWriter;
import java.nio.ByteBuffer;
import java.nio.channels.FileChannel;
import java.nio.channels.SocketChannel;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;

/** The end of rcopy that sends a file. */
record RcopyClient(SocketChannel channel, PrintWriter out) {
  private static final int PART = 1 << 20;

  /** Sends a file, whose name is another one at the server. */
  void send(Path source, String destination) throws IOException {
    out.print("opening...");
    out.flush();
    try (FileChannel file = FileChannel.open(source)) {
      long size = file.size();
      request(new RcopyMessage(RcopyMessage.OPEN, mode(source), path(destination)));
      awaitResponse(RcopyMessage.OPEN);
      out.print("transferring...");
      out.flush();
      ByteBuffer length = RcopyMessage.allocate(Long.BYTES).putLong(size).flip();
      request(new RcopyMessage(RcopyMessage.WRITE, 0, length));
      long start = System.nanoTime();
      transfer(file, size);
      awaitResponse(RcopyMessage.WRITE);
      double micros = (System.nanoTime() - start) / 1000.0;
      out.print("closing...");
      out.flush();
      request(RcopyMessage.of(RcopyMessage.CLOSE, 0));
      awaitResponse(RcopyMessage.CLOSE);
      out.println("done");
      out.printf(
          "%d bytes in %.2f seconds = %.2f Gb/sec%n",
          size, micros / 1_000_000, size * 8 / (1000 * micros));
    }
  }

  /** By a buffer: a mapped file that is cut off meanwhile would end the JVM. */
  private void transfer(FileChannel file, long size) throws IOException {
    ByteBuffer part = ByteBuffer.allocateDirect(PART);
    for (long sent = 0; sent < size; ) {
      part.clear().limit((int) Math.min(PART, size - sent));
      if (file.read(part) < 0) {
        throw new EOFException("the file has become shorter");
      }
      sent += channel.write(part.flip());
    }
  }

  private static int mode(Path file) throws IOException {
    return (int) Files.getAttribute(file, "unix:mode");
  }

  /** The name with at least one zero byte, up to a multiple of eight bytes. */
  private static ByteBuffer path(String name) {
    byte[] bytes = name.getBytes(StandardCharsets.UTF_8);
    return RcopyMessage.allocate((bytes.length + 8) & ~7).put(0, bytes);
  }

  private void request(RcopyMessage message) throws IOException {
    message.send(channel);
  }

  private void awaitResponse(int command) throws IOException {
    RcopyMessage response =
        RcopyMessage.receive(channel)
            .orElseThrow(() -> new EOFException("the peer closed the connection"));
    if (response.command() != (command | RcopyMessage.RESPONSE)) {
      throw new IOException("bad command response 0x%x".formatted(response.command()));
    }
    if (response.data() != 0) {
      throw new IOException("the server: " + Errno.text(response.data()));
    }
  }
}
