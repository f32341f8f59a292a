import dev.verbena.values.AccessFlag;
import dev.verbena.values.QueuePairCapacity;
import dev.verbena.values.QueuePairType;
import dev.verbena.verbs.CompletionQueue;
import dev.verbena.verbs.Completions;
import dev.verbena.verbs.Context;
import dev.verbena.verbs.Device;
import dev.verbena.verbs.MemoryRegion;
import dev.verbena.verbs.PolledMemory;
import dev.verbena.verbs.ProtectionDomain;
import dev.verbena.verbs.QueuePair;
import dev.verbena.verbs.SendList;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.time.Duration;
import java.util.concurrent.FutureTask;

/**
 * A ring buffer in the memory of the consumer. The producer writes messages to it by RDMA write,
 * the consumer polls its memory: it has no receive requests and no completions. The consumer writes
 * its position back to the memory of the producer, which so knows the free slots.
 *
 * <p>{@code java --enable-native-access=ALL-UNNAMED -cp verbena.jar OneSidedRing.java 1000000}
 */
public class OneSidedRing {
  private static final int SLOTS = 256;

  /** A slot: the data, then the number of the message in the ring. */
  private static final int DATA = 56;

  private static final int SLOT = DATA + Long.BYTES;

  /** Behind the slots: the number of messages that the consumer has read. */
  private static final long POSITION = (long) SLOTS * SLOT;

  /** The consumer tells its position four times in a round. */
  private static final int ROUND = SLOTS / 4;

  public static void main(String[] args) throws Exception {
    long messages = args.length > 0 ? Long.parseLong(args[0]) : 1_000_000;
    try (Side producer = new Side(Device.list().getFirst());
        Side consumer = new Side(Device.list().getLast())) {
      // Between two hosts: exchange addresses, start and rkey of the memory over TCP.
      producer.queuePair.connect(consumer.queuePair.localAddress());
      consumer.queuePair.connect(producer.queuePair.localAddress());
      FutureTask<Long> consuming = new FutureTask<>(() -> consume(consumer, producer, messages));
      Thread.ofPlatform().name("consumer").start(consuming);
      produce(producer, consumer, messages, consuming);
      System.out.println(messages + " messages, sum " + consuming.get());
    }
  }

  private static void produce(Side self, Side peer, long messages, FutureTask<Long> consuming) {
    MemorySegment memory = self.region.memory();
    MemoryRegion ring = peer.region;
    // Two writes: the bytes of a single one may arrive in any order (QueuePair.dataInOrder).
    SendList writes = new SendList(2, 1);
    writes.write(0).local(self.region, 0, DATA).remote(ring.start(), ring.rkey());
    writes.write(1).local(self.region, DATA, Long.BYTES).remote(ring.start(), ring.rkey());
    writes.signaled(1);
    long free = SLOTS;
    for (long number = 1; number <= messages; number++) {
      while (number > free) {
        // A slot is free when the consumer has read it, and the device no longer reads this copy.
        free = SLOTS + Math.min(self.polled.getLongAcquire(POSITION), self.completed());
        if (consuming.isDone()) {
          return; // The consumer has failed.
        }
        Thread.onSpinWait();
      }
      long at = number % SLOTS * SLOT;
      for (int i = 0; i < DATA; i += Long.BYTES) {
        memory.set(ValueLayout.JAVA_LONG, at + i, number * i);
      }
      memory.set(ValueLayout.JAVA_LONG, at + DATA, number);
      writes.local(0, self.region, at, DATA);
      writes.remote(0, ring.start() + at, ring.rkey());
      writes.local(1, self.region, at + DATA, Long.BYTES);
      writes.remote(1, ring.start() + at + DATA, ring.rkey());
      self.postAll(writes);
    }
    while (self.completed() < messages) {
      Thread.onSpinWait();
    }
  }

  private static long consume(Side self, Side peer, long messages) throws InterruptedException {
    MemorySegment memory = self.region.memory();
    SendList position = new SendList(1, 1);
    position.write(0).local(self.region, POSITION, Long.BYTES).signaled();
    position.remote(0, peer.region.start() + POSITION, peer.region.rkey());
    long sum = 0;
    for (long number = 1; number <= messages; number++) {
      long at = number % SLOTS * SLOT;
      while (!self.polled.awaitLong(at + DATA, number, Duration.ofSeconds(10))) {
        System.err.println("message " + number + " has not arrived for 10 s");
      }
      for (int i = 0; i < DATA; i += Long.BYTES) {
        long value = memory.get(ValueLayout.JAVA_LONG, at + i);
        if (value != number * i) {
          throw new IllegalStateException("message " + number + " has " + value + " at " + i);
        }
        sum += value;
      }
      if (number % ROUND == 0) {
        while (self.completed() < number / ROUND - 1) {
          Thread.onSpinWait(); // The device may still read the position before.
        }
        self.polled.putLongRelease(POSITION, number);
        self.postAll(position);
      }
    }
    return sum;
  }

  /** A device with a queue pair, and memory that the peer writes to. */
  private static class Side implements AutoCloseable {
    private final Context context;
    private final CompletionQueue queue;
    private final QueuePair queuePair;
    private final MemoryRegion region;
    private final PolledMemory polled;
    private final Completions completions = new Completions(16);
    private long completed;

    Side(Device device) {
      context = device.open();
      ProtectionDomain domain = context.allocateProtectionDomain();
      queue = context.createCompletionQueue(4 * SLOTS); // sends and receives
      queuePair =
          QueuePair.builder(domain, QueuePairType.RC)
              .completions(queue)
              .capacity(QueuePairCapacity.of(2 * SLOTS))
              .create();
      region =
          domain.allocateMemory(
              POSITION + Long.BYTES, AccessFlag.LOCAL_WRITE, AccessFlag.REMOTE_WRITE);
      polled = new PolledMemory(region);
    }

    void postAll(SendList list) {
      if (queuePair.post(list) < list.size()) {
        throw new IllegalStateException("the send queue of " + queuePair + " is full");
      }
    }

    /** Polls the completion queue, and returns the number of completed lists. */
    long completed() {
      int count = queue.poll(completions);
      for (int i = 0; i < count; i++) {
        if (!completions.isSuccess(i)) {
          throw new IllegalStateException(completions.describe(i));
        }
      }
      completed += count;
      return completed;
    }

    @Override
    public void close() {
      context.close();
    }
  }
}
