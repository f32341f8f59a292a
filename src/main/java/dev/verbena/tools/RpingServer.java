package dev.verbena.tools;

import dev.verbena.cm.Connection;
import dev.verbena.cm.ConnectionEvent;
import dev.verbena.cm.ConnectionException;
import dev.verbena.cm.EventType;
import dev.verbena.cm.RemoteMemory;
import dev.verbena.verbs.AccessFlag;
import dev.verbena.verbs.MemoryRegion;
import java.io.IOException;
import java.lang.foreign.Arena;
import java.nio.charset.StandardCharsets;
import java.util.function.Consumer;

/** The end of rping that reads from the client's memory, and writes what it read back to it. */
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
    for (byte[] message = client.receive(); message != null; message = client.receive()) {
      RemoteMemory source = fitting(RpingBuffer.of(message));
      client.read(data, 0, source.length(), source, 0);
      String text = text(source.length());
      pings.accept(text);
      client.send(GO_AHEAD);
      message = client.receive();
      if (message == null) {
        throw new IOException("the client ended the connection between a read and a write");
      }
      client.write(data, 0, text.length() + 1L, RpingBuffer.of(message), 0);
      if (!sendLastGoAhead()) {
        return;
      }
    }
  }

  /**
   * Sends the go-ahead that ends a ping; false if the client disconnected meanwhile: it may do so
   * as soon as the go-ahead arrives, which can be before this end sees that it did.
   */
  private boolean sendLastGoAhead() throws IOException, InterruptedException {
    try {
      client.send(GO_AHEAD);
      return true;
    } catch (ConnectionException e) {
      ConnectionEvent event = e.event();
      if (event == null || event.type() != EventType.DISCONNECTED) {
        throw e;
      }
      return false;
    }
  }

  /** What was read, of one byte each letter: it must end before the ping does. */
  private String text(long length) throws IOException {
    try {
      return data.memory().asSlice(0, length).getString(0, StandardCharsets.ISO_8859_1);
    } catch (IndexOutOfBoundsException e) {
      throw new IOException("the client's ping of " + length + " bytes has no end", e);
    }
  }

  private RemoteMemory fitting(RemoteMemory source) throws IOException {
    if (source.length() > data.length()) {
      throw new IOException(
          "the client pings with %d bytes: start the server with -S %1$d"
              .formatted(source.length()));
    }
    return source;
  }
}
