package dev.verbena.soft;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.verbena.testing.Await;
import dev.verbena.verbs.Completions;
import dev.verbena.verbs.ReceiveList;
import dev.verbena.verbs.SendList;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.util.Random;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/**
 * Pipelined requests of all kinds over a network that loses, duplicates, reorders and corrupts
 * packets: each is executed once, in order, and every byte is compared.
 */
class FaultyTrafficTest {
  private static final int REQUESTS = 800;
  private static final int OUTSTANDING = 8;
  private static final int SLOT = 6000;
  private static final long COUNTER = SLOT * OUTSTANDING;
  private static final long STABLE = COUNTER + 8;

  private enum Kind {
    SEND,
    WRITE,
    READ,
    FETCH_AND_ADD
  }

  private final Kind[] kinds = new Kind[REQUESTS];
  private final int[] lengths = new int[REQUESTS];
  private final SendList sends = new SendList(1, 1);
  private final ReceiveList receives = new ReceiveList(1, 1);
  private final Completions completions = new Completions(1);
  private int received;
  private int nextReceived;
  private long added;

  @ParameterizedTest
  @ValueSource(longs = {1, 2, 3})
  void eachRequestIsExecutedOnceAndInOrder(long seed) {
    Random random = new Random(seed);
    try (SoftPair pair = SoftPair.connected()) {
      pair.network.faults().seed(seed).loss(0.01).duplicate(0.02).reorder(0.02).corrupt(0.005);
      for (long at = STABLE; at < STABLE + SLOT; at++) {
        pair.b.memory.set(ValueLayout.JAVA_BYTE, at, (byte) (at * 7));
      }
      int posted = 0;
      for (int i = 0; i < REQUESTS; i++) {
        int done = i;
        while (posted < REQUESTS && posted - done < OUTSTANDING) {
          post(pair, posted++, random);
        }
        Await.until(
            () -> done + " done, seed " + seed, () -> pair.a.completions.poll(completions) == 1);
        assertTrue(completions.isSuccess(0), completions.describe(0));
        assertEquals(done, completions.id(0), "in order");
        check(pair, done);
      }
      assertEquals(received, nextReceived, "each SEND arrived before it was acknowledged");
      assertEquals(added, pair.b.memory.get(ValueLayout.JAVA_LONG, COUNTER), "each addition once");
    }
  }

  private static long slot(int request) {
    return (long) (request % OUTSTANDING) * SLOT;
  }

  private static byte content(int request, long at) {
    return (byte) (request * 13L + at);
  }

  private void post(SoftPair pair, int request, Random random) {
    Kind kind = Kind.values()[random.nextInt(Kind.values().length)];
    int length = kind == Kind.FETCH_AND_ADD ? 8 : random.nextInt(SLOT + 1);
    kinds[request] = kind;
    lengths[request] = length;
    long slot = slot(request);
    for (long i = 0; i < length; i++) {
      pair.a.memory.set(ValueLayout.JAVA_BYTE, slot + i, content(request, i));
    }
    long start = pair.b.region.start();
    int key = pair.b.region.rkey();
    switch (kind) {
      case SEND -> {
        receives.id(0, request);
        receives.local(0, pair.b.region, slot, SLOT);
        assertEquals(1, pair.b.queuePair.post(receives));
        sends.send(0).local(pair.a.region, slot, length);
      }
      case WRITE -> sends.write(0).local(pair.a.region, slot, length).remote(start + slot, key);
      case READ -> sends.read(0).local(pair.a.region, slot, length).remote(start + STABLE, key);
      case FETCH_AND_ADD ->
          sends
              .fetchAndAdd(0, request)
              .local(pair.a.region, slot, length)
              .remote(start + COUNTER, key);
    }
    sends.id(0, request);
    sends.signaled(0);
    assertEquals(1, pair.a.queuePair.post(sends));
  }

  private void check(SoftPair pair, int request) {
    MemorySegment own = pair.a.memory.asSlice(slot(request), lengths[request]);
    MemorySegment other = pair.b.memory.asSlice(slot(request), lengths[request]);
    switch (kinds[request]) {
      case SEND -> {
        received++;
        assertEquals(1, pair.b.completions.poll(completions), "the receive of " + request);
        assertEquals(request, completions.id(0));
        assertEquals(lengths[request], completions.byteLength(0));
        assertEquals(-1, own.mismatch(other));
        nextReceived++;
      }
      case WRITE -> assertEquals(-1, own.mismatch(other));
      case READ ->
          assertEquals(
              -1, own.mismatch(pair.b.memory.asSlice(STABLE, lengths[request])), "read " + request);
      case FETCH_AND_ADD -> {
        assertEquals(added, pair.a.memory.get(ValueLayout.JAVA_LONG, slot(request)));
        added += request;
      }
    }
  }
}
