package dev.verbena.verbs;

import static org.junit.jupiter.api.Assertions.assertEquals;

import dev.verbena.fake.FakeProvider;
import dev.verbena.testing.ForkedJvm;
import dev.verbena.values.QueuePairCapacity;
import dev.verbena.values.QueuePairType;
import dev.verbena.values.SendOperation;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.ref.Reference;
import org.junit.jupiter.api.Test;
import org.opentest4j.AssertionFailedError;

/**
 * What the C library created is destroyed, or has an owner, also when the JVM has little native
 * memory left ({@code -XX:MaxDirectMemorySize}).
 */
class DirectMemoryTest {
  @Test
  void noQueuePairIsLeftInTheCLibraryWhenNativeMemoryRunsOut() {
    String output =
        new ForkedJvm()
            .with("-XX:MaxDirectMemorySize=1m")
            .withNativeAccess()
            .withJarOf(Test.class)
            .withJarOf(AssertionFailedError.class)
            .run(AlmostExhausted.class)
            .succeeded();
    assertEquals("refused", output.strip());
  }

  /**
   * Creates a queue pair when there is memory for that of the fake device, but not for its owner in
   * Java.
   */
  static final class AlmostExhausted {
    private static final int LEFT = 1_000;

    private AlmostExhausted() {}

    public static void main(String[] args) {
      FakeProvider provider = new FakeProvider();
      try (Context context = FakeDevices.of(provider).open()) {
        CompletionQueue queue = context.createCompletionQueue(4);
        ProtectionDomain domain = context.allocateProtectionDomain();
        MemorySegment taken = takeEverythingBut(LEFT);
        try {
          QueuePair pair =
              QueuePair.builder(domain, QueuePairType.RC)
                  .completions(queue)
                  .capacity(QueuePairCapacity.of(1).withSendSges(32))
                  .sendOperations(SendOperation.SEND)
                  .create();
          System.out.println(pair + " created");
        } catch (OutOfMemoryError e) {
          System.out.println("refused");
        }
        taken.fill((byte) 0);
      }
      provider.close(); // Throws if an object is left.
    }

    /** Takes the memory of automatic arenas, which alone is limited. */
    private static MemorySegment takeEverythingBut(long bytes) {
      MemorySegment left = Arena.ofAuto().allocate(bytes);
      try {
        return takeEverything();
      } finally {
        Reference.reachabilityFence(left); // The JVM collects it when memory is missing later.
      }
    }

    private static MemorySegment takeEverything() {
      Arena all = Arena.ofAuto();
      MemorySegment last = MemorySegment.NULL;
      for (long size : new long[] {1 << 16, 1 << 10, 16, 1}) {
        try {
          while (true) {
            last = all.allocate(size);
          }
        } catch (OutOfMemoryError e) {
          // Less may be left.
        }
      }
      return last;
    }
  }
}
