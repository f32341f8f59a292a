package dev.verbena.verbs;

import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.verbena.raw.rdma_h;
import dev.verbena.testing.ForkedJvm;
import dev.verbena.util.ReceiveHandler;
import dev.verbena.util.ReceiveRing;
import dev.verbena.util.SendRing;
import dev.verbena.values.AccessFlag;
import dev.verbena.values.CompletionField;
import dev.verbena.values.QueuePairCapacity;
import dev.verbena.values.QueuePairType;
import dev.verbena.values.SendOperation;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.invoke.MethodHandle;
import java.lang.invoke.MethodHandles;
import java.lang.invoke.MethodType;
import java.time.Duration;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** The data path allocates nothing, whichever compiler has compiled it. */
class AllocationTest {
  private static final int OPERATIONS = 100_000;

  @ParameterizedTest
  @ValueSource(strings = {"-XX:+TieredCompilation", "-XX:TieredStopAtLevel=1"})
  void postingAndPollingAllocateNothing(String compiler) {
    String output = new ForkedJvm().withNativeAccess().with(compiler).run(Loop.class).succeeded();
    assertTrue(output.contains("allocated 0 bytes in " + OPERATIONS), output);
  }

  /** Posts and polls everything, failed completions included, in a JVM of its own. */
  static final class Loop implements ReceiveHandler {
    private final RecordingDevice device;
    private final CompletionQueue queue;
    private final MemoryRegion region;
    private final QueuePair pair;
    private final QueuePair extended;
    private final ExtendedCompletionQueue told;
    private final MemorySegment inlined;
    private final SendList sends = new SendList(2, 1, 16);
    private final ReceiveList receives = new ReceiveList(2, 1);
    private final ReceiveRing ring;
    private final SendRing sendRing;
    private final PolledMemory polled;
    private final QueuePairSession session;
    private final Completions completions = new Completions(2);
    private long sum;

    private Loop(
        RecordingDevice device,
        CompletionQueue queue,
        MemoryRegion region,
        QueuePair pair,
        QueuePair extended,
        ExtendedCompletionQueue told) {
      this.device = device;
      this.queue = queue;
      this.region = region;
      this.pair = pair;
      this.extended = extended;
      this.told = told;
      this.inlined = region.memory().asSlice(0, 16);
      this.polled = new PolledMemory(region);
      this.ring = new ReceiveRing(pair, receives);
      this.session = QueuePairSession.on(pair, queue, 2);
      session.write(0, 8, 8);
      SendList ringed = new SendList(2, 1);
      ringed.write(0).local(region, 0, 8).remote(8, 8);
      ringed.write(1).local(region, 0, 8).remote(8, 8).signaled();
      this.sendRing = new SendRing(pair, ringed, 0);
      sends.write(0).local(region, 0, 8).remote(0, 0).signaled();
      sends.send(1).inline(8).signaled();
    }

    /** How much this thread has allocated; the library's module does not know the one asked. */
    private static MethodHandle allocatedBytes() throws ReflectiveOperationException {
      Object threads =
          Class.forName("java.lang.management.ManagementFactory")
              .getMethod("getThreadMXBean")
              .invoke(null);
      return MethodHandles.publicLookup()
          .findVirtual(
              Class.forName("com.sun.management.ThreadMXBean"),
              "getCurrentThreadAllocatedBytes",
              MethodType.methodType(long.class))
          .asType(MethodType.methodType(long.class, Object.class))
          .bindTo(threads);
    }

    public static void main(String[] arguments) throws Throwable {
      MethodHandle allocatedBytes = allocatedBytes();
      try (Arena arena = Arena.ofShared();
          RecordingDevice device = new RecordingDevice()) {
        ProtectionDomain domain = device.context.allocateProtectionDomain();
        CompletionQueue queue = device.context.createCompletionQueue(16);
        MemoryRegion region = domain.registerMemory(arena.allocate(64), AccessFlag.LOCAL_WRITE);
        QueuePair pair =
            QueuePair.builder(domain, QueuePairType.RC)
                .completions(queue)
                .capacity(QueuePairCapacity.of(8).withMaxInlineData(16))
                .create();
        QueuePair extended =
            QueuePair.builder(domain, QueuePairType.RC)
                .completions(queue)
                .sendOperations(SendOperation.RDMA_WRITE, SendOperation.SEND)
                .capacity(
                    QueuePairCapacity.of(8)
                        .withSendSges(2)
                        .withReceiveSges(2)
                        .withMaxInlineData(16))
                .create();
        ExtendedCompletionQueue told =
            device.context.completionQueue(16).createExtended(CompletionField.BYTE_LEN);
        Loop loop = new Loop(device, queue, region, pair, extended, told);
        long allocated = -1;
        // The first rounds warm up, until there is nothing left to compile, link or load.
        for (int round = 0; round < 5; round++) {
          long before = (long) allocatedBytes.invokeExact();
          for (int i = 0; i < OPERATIONS; i++) {
            loop.lists(i);
            loop.ring(i);
            loop.session(i);
            loop.calls(i);
            loop.memory(i);
          }
          allocated = (long) allocatedBytes.invokeExact() - before;
        }
        System.out.println("allocated " + allocated + " bytes in " + OPERATIONS);
      }
    }

    /** Patched lists, polled by index and by handler; full queues and failures now and then. */
    private void lists(int i) {
      sends.id(0, i);
      sends.local(0, region, i & 31, 8);
      sends.remote(0, i + 1, i);
      sends.inlineLength(1, i & 15);
      device.room = i % 3;
      sum += pair.post(sends);
      sum += pair.post(sends, 1, 1);
      receives.local(0, region, 0, 8);
      device.room = 2;
      sum += pair.post(receives);
      device.completed = 4;
      device.status = i % 2 == 0 ? rdma_h.IBV_WC_SUCCESS() : rdma_h.IBV_WC_WR_FLUSH_ERR();
      int n = queue.poll(completions);
      for (int c = 0; c < n; c++) {
        sum += completions.id(c) + completions.byteLength(c) + completions.immediate(c);
        sum += completions.status(c).code() + completions.opcode(c).code();
        sum += completions.isSuccess(c) ? 1 : completions.vendorError(c);
      }
      sum += queue.poll(completions, 2);
    }

    /** Requests that are posted again after they have completed, or failed. */
    private void ring(int i) {
      device.room = 2;
      sum += sendRing.next() + sendRing.next() + sendRing.next() + sendRing.post();
      device.completed = 2;
      device.nextId = 0;
      sum += queue.poll(completions);
      sum += sendRing.completed(completions);
      device.room = 2;
      device.completed = 2;
      device.nextId = 0;
      device.status = i % 2 == 0 ? rdma_h.IBV_WC_SUCCESS() : rdma_h.IBV_WC_WR_FLUSH_ERR();
      sum += queue.poll(completions);
      sum += ring.handle(completions, this);
    }

    /** A session, with full queues and failures now and then. */
    private void session(int i) {
      session.local(0, i, region, i & 31, 8);
      session.remote(0, i + 1, i);
      session.signaled(0, i % 2 == 0);
      device.room = i % 2;
      sum += session.post(0, 1);
      device.completed = 3;
      device.status = i % 3 == 0 ? rdma_h.IBV_WC_WR_FLUSH_ERR() : rdma_h.IBV_WC_SUCCESS();
      while (session.next()) {
        sum += session.id() + session.byteLength() + session.status().code();
        sum += session.isSuccess() ? 1 : session.vendorError();
      }
    }

    /** The interfaces of one call for each step. */
    private void calls(int i) {
      try (Posting posting = extended.startPosting()) {
        posting.write(1, i).id(i).signaled().local(region, 0, 8).local(region, 8, 8);
        posting.send().inline(inlined);
        sum += i % 2 == 0 ? posting.complete() : 0;
      }
      try (CompletionCursor cursor = told.startPolling()) {
        while (cursor.next() && sum % 3 != 0) {
          sum += cursor.id() + cursor.byteLength() + cursor.status().code() + 1;
        }
      }
    }

    /** Memory that is polled: with the value, and now and then without it. */
    private void memory(int i) throws InterruptedException {
      polled.putLongRelease(32, i);
      polled.putByteRelease(40, (byte) i);
      sum += polled.getLongAcquire(32) + polled.getByteAcquire(40);
      long expected = i % 100 == 0 ? -1 : i;
      sum += polled.awaitLong(32, expected, Duration.ZERO) ? 1 : 2;
      sum += polled.awaitByte(40, (byte) i, Duration.ZERO) ? 1 : 2;
    }

    @Override
    public boolean received(Completions batch, int index, int request) {
      sum += batch.byteLength(index);
      return true;
    }
  }
}
