package dev.verbena.fuzz;

import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.MappedByteBuffer;
import java.nio.channels.FileChannel;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import java.util.concurrent.atomic.AtomicLong;

/**
 * The last calls of each thread, in a mapped file: it survives a crash of the JVM that writes it,
 * and shows to another process whether that JVM makes progress.
 */
final class Journal {
  /** More threads than any run has. */
  static final int THREADS = 64;

  private static final int SLOTS = 32;
  private static final int SLOT = 1024;
  private static final int HEADER = 64;
  private static final int SEQUENCE = 0;
  private static final int OUTCOME = 8;
  private static final int LENGTH = 12;
  private static final int TEXT = 16;
  private static final int LONGEST = SLOT - TEXT;

  private static final int RUNNING = 0;
  private static final int RETURNED = 1;
  private static final int THREW = 2;

  private final Path file;
  private final MappedByteBuffer memory;
  private final AtomicLong sequence = new AtomicLong();
  private final int[] next = new int[THREADS];

  private Journal(Path file, MappedByteBuffer memory) {
    this.file = file;
    this.memory = memory;
  }

  static Journal create(Path file) throws IOException {
    return new Journal(
        file,
        map(
            file,
            FileChannel.MapMode.READ_WRITE,
            StandardOpenOption.READ,
            StandardOpenOption.WRITE,
            StandardOpenOption.CREATE));
  }

  /** A file of the same folder, which is removed with it. */
  Path beside(String name) {
    return file.toAbsolutePath().resolveSibling(name);
  }

  private static MappedByteBuffer map(
      Path file, FileChannel.MapMode mode, StandardOpenOption... options) throws IOException {
    try (FileChannel channel = FileChannel.open(file, options)) {
      return channel.map(mode, 0, HEADER + (long) THREADS * SLOTS * SLOT);
    }
  }

  /** Writes down a call before it is made; by the thread of that number alone. */
  void begin(int thread, String call) {
    next[thread] = (next[thread] + 1) % SLOTS;
    int slot = slot(thread, next[thread]);
    byte[] text = call.getBytes(StandardCharsets.UTF_8);
    int length = Math.min(text.length, LONGEST);
    long number = sequence.incrementAndGet();
    memory.putLong(slot + SEQUENCE, number);
    memory.putInt(slot + OUTCOME, RUNNING);
    memory.putInt(slot + LENGTH, length);
    memory.put(slot + TEXT, text, 0, length);
    memory.putLong(0, number);
  }

  /** Notes that the call is over. */
  void end(int thread, boolean returned) {
    memory.putInt(slot(thread, next[thread]) + OUTCOME, returned ? RETURNED : THREW);
  }

  /** How many calls were begun. */
  long count() {
    return sequence.get();
  }

  private static int slot(int thread, int index) {
    return HEADER + (thread * SLOTS + index) * SLOT;
  }

  private record Entry(long number, String text) {}

  /** How many calls were begun, as another process sees it; 0 before the first. */
  static long count(Path file) {
    try (FileChannel channel = FileChannel.open(file, StandardOpenOption.READ)) {
      ByteBuffer number = ByteBuffer.allocate(Long.BYTES);
      return channel.read(number, 0) == Long.BYTES ? number.getLong(0) : 0;
    } catch (IOException e) {
      return 0;
    }
  }

  /** The last calls, the oldest first. */
  static List<String> read(Path file) throws IOException {
    ByteBuffer memory = map(file, FileChannel.MapMode.READ_ONLY, StandardOpenOption.READ);
    List<Entry> entries = new ArrayList<>();
    for (int thread = 0; thread < THREADS; thread++) {
      for (int i = 0; i < SLOTS; i++) {
        int slot = slot(thread, i);
        long number = memory.getLong(slot + SEQUENCE);
        if (number != 0) {
          byte[] text = new byte[Math.clamp(memory.getInt(slot + LENGTH), 0, LONGEST)];
          memory.get(slot + TEXT, text);
          String outcome =
              switch (memory.getInt(slot + OUTCOME)) {
                case RUNNING -> "inside  ";
                case RETURNED -> "returned";
                default -> "threw   ";
              };
          String words = new String(text, StandardCharsets.UTF_8);
          entries.add(
              new Entry(number, "%8d thread %d %s %s".formatted(number, thread, outcome, words)));
        }
      }
    }
    return entries.stream()
        .sorted(Comparator.comparingLong(Entry::number))
        .map(Entry::text)
        .toList();
  }
}
