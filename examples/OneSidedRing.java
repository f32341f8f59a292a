import dev.verbena.messages.RingReader;
import dev.verbena.messages.RingWriter;
import dev.verbena.values.QueuePairCapacity;
import dev.verbena.values.QueuePairType;
import dev.verbena.verbs.CompletionQueue;
import dev.verbena.verbs.Context;
import dev.verbena.verbs.Device;
import dev.verbena.verbs.ProtectionDomain;
import dev.verbena.verbs.QueuePair;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.time.Duration;
import java.util.concurrent.FutureTask;

/**
 * A ring in the memory of the reader. The writer writes messages to it by RDMA write, the reader
 * polls its memory: it has no receive requests and no completions, and posts nothing.
 *
 * <p>{@code java --enable-native-access=ALL-UNNAMED -cp verbena.jar OneSidedRing.java 1000000}
 */
public class OneSidedRing {
  private static final long CAPACITY = 1 << 16;
  private static final Duration LIMIT = Duration.ofSeconds(10);

  /** The number of messages of a flush: one request for all, and one that says so. */
  private static final int BATCH = 16;

  private static final int LENGTH = 56;

  public static void main(String[] args) throws Exception {
    long messages = args.length > 0 ? Long.parseLong(args[0]) : 1_000_000;
    try (Side writing = new Side(Device.list().getFirst());
        Side reading = new Side(Device.list().getLast());
        RingReader reader = RingReader.allocate(reading.domain, CAPACITY);
        RingWriter writer = RingWriter.allocate(writing.domain, CAPACITY)) {
      // Between two hosts: exchange the addresses and reader.memory().toBytes() over TCP.
      writing.queuePair.connect(reading.queuePair.localAddress());
      reading.queuePair.connect(writing.queuePair.localAddress());
      writer.attach(writing.queuePair, writing.completions, reader.memory(), LIMIT);
      FutureTask<Long> sum = new FutureTask<>(() -> read(reader, messages));
      Thread.ofPlatform().name("reader").start(sum);
      write(writer, messages, sum);
      System.out.println(messages + " messages, sum " + sum.get());
    }
  }

  private static void write(RingWriter writer, long messages, FutureTask<Long> sum)
      throws InterruptedException {
    try (Arena arena = Arena.ofConfined()) {
      MemorySegment message = arena.allocate(LENGTH, Long.BYTES);
      for (long number = 1; number <= messages; number++) {
        for (int i = 0; i < LENGTH; i += Long.BYTES) {
          message.set(ValueLayout.JAVA_LONG, i, number * i);
        }
        while (!writer.offer(message)) {
          if (sum.isDone()) {
            return; // The reader has failed.
          }
          Thread.onSpinWait(); // It has to read first.
        }
        if (number % BATCH == 0) {
          writer.flush();
        }
      }
    }
    writer.awaitWritten(LIMIT);
  }

  private static long read(RingReader reader, long messages) throws InterruptedException {
    Sum sum = new Sum();
    while (sum.read < messages) {
      if (!reader.await(LIMIT)) {
        throw new IllegalStateException("no message after " + sum.read + " for " + LIMIT);
      }
      reader.poll(sum, BATCH);
    }
    return sum.sum;
  }

  private static class Sum implements RingReader.Handler {
    private long read;
    private long sum;

    @Override
    public void onMessage(MemorySegment memory, long offset, int length) {
      read++;
      for (int i = 0; i < LENGTH; i += Long.BYTES) {
        long value = memory.get(ValueLayout.JAVA_LONG, offset + i);
        if (value != read * i) {
          throw new IllegalStateException("message " + read + " has " + value + " at " + i);
        }
        sum += value;
      }
    }
  }

  /** A device with a queue pair. */
  private static class Side implements AutoCloseable {
    private final Context context;
    private final ProtectionDomain domain;
    private final CompletionQueue completions;
    private final QueuePair queuePair;

    Side(Device device) {
      context = device.open();
      domain = context.allocateProtectionDomain();
      completions = context.createCompletionQueue(256);
      queuePair =
          QueuePair.builder(domain, QueuePairType.RC)
              .completions(completions)
              .capacity(QueuePairCapacity.of(128))
              .create();
    }

    @Override
    public void close() {
      context.close();
    }
  }
}
