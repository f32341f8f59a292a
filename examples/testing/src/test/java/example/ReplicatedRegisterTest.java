package example;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;

import dev.verbena.messages.Connection;
import dev.verbena.soft.Simulation;
import dev.verbena.soft.SoftHosts;
import dev.verbena.values.AccessFlag;
import dev.verbena.verbs.MemoryRegion;
import dev.verbena.verbs.PolledMemory;
import dev.verbena.verbs.RemoteMemory;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.time.Duration;
import java.util.Arrays;
import org.junit.jupiter.api.Test;

class ReplicatedRegisterTest {
  private static final int WORDS = 512;

  /** How the replica learns that a version has been written. */
  private interface Arrival {
    void await(Connection replica, MemoryRegion copy, long version) throws Exception;
  }

  // A register of 4,096 bytes, each version of which is written to the memory of a replica.
  private static void replicate(Simulation simulation, Arrival arrival) throws Exception {
    try (SoftHosts hosts = SoftHosts.create()) {
      hosts.faults().vary(simulation.random());
      Connection primary = hosts.client();
      Connection replica = hosts.server();
      MemoryRegion register =
          primary.domain().allocateMemory(WORDS * Long.BYTES, AccessFlag.LOCAL_WRITE);
      MemoryRegion copy =
          replica
              .domain()
              .allocateMemory(WORDS * Long.BYTES, AccessFlag.LOCAL_WRITE, AccessFlag.REMOTE_WRITE);
      Thread reader =
          simulation.actor(
              "replica",
              () -> {
                for (long version = 1; version <= 3; version++) {
                  arrival.await(replica, copy, version);
                  assertArrayEquals(words(version), copy.memory().toArray(ValueLayout.JAVA_LONG));
                  replica.send(new byte[0]);
                }
              });
      for (long version = 1; version <= 3; version++) {
        register.memory().copyFrom(MemorySegment.ofArray(words(version)));
        primary.write(register, 0, register.length(), RemoteMemory.of(copy), 0);
        primary.send(new byte[0]);
        primary.receive();
      }
      reader.join();
    }
  }

  private static long[] words(long version) {
    long[] words = new long[WORDS];
    Arrays.fill(words, version);
    return words;
  }

  @Test
  void aVersionIsCompleteAfterTheMessage() {
    Simulation.check(100, s -> replicate(s, (replica, copy, version) -> replica.receive()));
  }

  // The mistake: the last bytes of a write need not be the last in memory.
  @Test
  void aSeedShowsThatTheLastWordIsTooEarly() {
    Arrival lastWord =
        (replica, copy, version) ->
            new PolledMemory(copy)
                .awaitLong(copy.length() - Long.BYTES, version, Duration.ofSeconds(10));
    AssertionError found =
        assertThrows(
            AssertionError.class, () -> Simulation.check(100, s -> replicate(s, lastWord)));
    System.out.println(found.getMessage());
  }
}
