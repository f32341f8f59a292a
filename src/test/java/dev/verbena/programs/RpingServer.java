package dev.verbena.programs;

import dev.verbena.RdmaException;
import dev.verbena.messages.Connection;
import dev.verbena.tools.command.Patience;
import dev.verbena.values.AccessFlag;
import dev.verbena.verbs.MemoryRegion;
import dev.verbena.verbs.RemoteMemory;
import java.io.IOException;
import java.lang.foreign.Arena;
import java.nio.charset.StandardCharsets;
import java.util.function.Consumer;

/** The server of rping: reads the client's memory, and writes the data back. */
final class RpingServer {
  private static final byte[] GO_AHEAD = new byte[RpingBuffer.SIZE];

  private final Connection client;
  private final MemoryRegion data;

  RpingServer(Connection client, Arena arena, int size) {
    this.client = client;
    this.data =
        client
            .endpoint()
            .id()
            .domain()
            .registerMemory(arena.allocate(size), AccessFlag.LOCAL_WRITE);
  }

  /** Answers until the client ends the connection. */
  void pong(Consumer<String> pings) throws IOException, InterruptedException {
    for (byte[] message = receive(); message != null; message = receive()) {
      RemoteMemory source = fitting(RpingBuffer.of(message));
      client.read(data, 0, source.length(), source, 0);
      String text = text(source.length());
      pings.accept(text);
      client.send(GO_AHEAD);
      message = receive();
      if (message == null) {
        throw new IOException("the client ended the connection between a read and a write");
      }
      client.write(data, 0, text.length() + 1L, RpingBuffer.of(message), 0);
      if (!sendLastGoAhead()) {
        return;
      }
    }
  }

  private byte[] receive() throws InterruptedException {
    return client.receive(Patience.WITH_PEER);
  }

  /**
   * Sends the message that ends a ping; returns false if the client has closed: it may do so as
   * soon as the message arrives, before this end receives the completion. If the network has lost
   * the acknowledgement, nobody is left to repeat it, and the send fails.
   */
  private boolean sendLastGoAhead() throws InterruptedException {
    try {
      client.send(GO_AHEAD);
      return true;
    } catch (RdmaException e) {
      if (hasClientClosed(e)) {
        return false;
      }
      throw e;
    }
  }

  /** Returns whether the client's last message was that it closes. */
  private boolean hasClientClosed(RdmaException failure) throws InterruptedException {
    try {
      return receive() == null;
    } catch (RdmaException e) {
      failure.addSuppressed(e);
      return false;
    }
  }

  /** Returns the text, one byte per letter; it must end within the ping. */
  private String text(long length) throws IOException {
    try {
      return data.memory().asSlice(0, length).getString(0, StandardCharsets.ISO_8859_1);
    } catch (IndexOutOfBoundsException e) {
      throw new IOException("the client's ping of " + length + " bytes is not terminated by 0", e);
    }
  }

  private RemoteMemory fitting(RemoteMemory source) throws IOException {
    if (source.length() > data.length()) {
      throw new IOException(
          "the client's pings have %d bytes: start the server with -S %1$d"
              .formatted(source.length()));
    }
    return source;
  }
}
