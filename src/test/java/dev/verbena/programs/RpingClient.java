package dev.verbena.programs;

import dev.verbena.messages.Connection;
import dev.verbena.tools.command.Patience;
import dev.verbena.values.AccessFlag;
import dev.verbena.verbs.MemoryRegion;
import java.io.IOException;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.util.function.Consumer;

/**
 * The client of rping: sends the description of its buffers; the server reads one and writes the
 * other.
 */
final class RpingClient {
  private static final int FIRST_LETTER = 'A';
  private static final int LAST_LETTER = 'z';

  private final Connection server;
  private final MemoryRegion source;
  private final MemoryRegion sink;

  RpingClient(Connection server, Arena arena, int size) {
    this.server = server;
    this.source = expose(arena.allocate(size), AccessFlag.REMOTE_READ);
    this.sink = expose(arena.allocate(size), AccessFlag.REMOTE_WRITE);
  }

  private MemoryRegion expose(MemorySegment memory, AccessFlag access) {
    return server.endpoint().id().domain().registerMemory(memory, AccessFlag.LOCAL_WRITE, access);
  }

  /** Exchanges a text with the server, a number of times, or without end if that is 0. */
  void ping(int count, boolean validate, Consumer<String> echoes)
      throws IOException, InterruptedException {
    for (int ping = 0; count == 0 || ping < count; ping++) {
      write(ping);
      server.send(RpingBuffer.bytes(source));
      awaitGoAhead();
      server.send(RpingBuffer.bytes(sink));
      awaitGoAhead();
      if (validate && source.memory().mismatch(sink.memory()) >= 0) {
        throw new IOException("data mismatch!");
      }
      echoes.accept(sink.memory().getString(0));
    }
  }

  /**
   * Fills the source as the C program does: a number, then letters, starting at another letter each
   * time.
   */
  private void write(int ping) {
    MemorySegment text = source.memory();
    String head = "rdma-ping-" + ping + ": ";
    text.setString(0, head);
    int letters = LAST_LETTER - FIRST_LETTER + 1;
    int last = (int) text.byteSize() - 1;
    for (int i = head.length(); i < last; i++) {
      int letter = FIRST_LETTER + (ping + i - head.length()) % letters;
      text.set(ValueLayout.JAVA_BYTE, i, (byte) letter);
    }
    text.set(ValueLayout.JAVA_BYTE, last, (byte) 0);
  }

  private void awaitGoAhead() throws IOException, InterruptedException {
    if (server.receive(Patience.WITH_PEER) == null) {
      throw new IOException("the server has ended the connection");
    }
  }
}
