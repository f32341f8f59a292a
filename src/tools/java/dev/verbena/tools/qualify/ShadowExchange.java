package dev.verbena.tools.qualify;

import static dev.verbena.tools.qualify.Bench.HALF;
import static dev.verbena.tools.qualify.Bench.require;

import dev.verbena.tools.qualify.Bench.Pair;
import dev.verbena.values.CompletionFlag;
import dev.verbena.values.QueuePairType;
import dev.verbena.verbs.CompletionQueue;
import dev.verbena.verbs.Completions;
import dev.verbena.verbs.Device;
import dev.verbena.verbs.ReceiveList;
import dev.verbena.verbs.SendList;
import java.lang.foreign.ValueLayout;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Random;

/**
 * The same exchanges through the provider library and on the direct data path, in turns, between
 * two queue pairs of one device each. Memory and completions of both are compared after each round.
 *
 * <p>A round is a write, a send, a send with immediate data, a read and a fetch-and-add, with
 * random data and lengths.
 */
public final class ShadowExchange {
  private static final int MAX_LENGTH = 1024;
  private static final int WRITTEN = 0;
  private static final int RECEIVED = 1024;
  private static final int RECEIVED_NEXT = 2048;
  private static final int COUNTER = 3072;
  private static final int REQUESTS = 5;
  private static final int RECEIVES = 2;

  private final boolean isDirect;
  private final Bench bench;
  private final Pair pair;
  private final SendList sends = new SendList(REQUESTS, 1);
  private final ReceiveList receives = new ReceiveList(RECEIVES, 1);
  private final List<Seen> seen = new ArrayList<>();

  private ShadowExchange(Bench bench, boolean isDirect) {
    this.bench = bench;
    this.isDirect = isDirect;
    pair = bench.pair(QueuePairType.RC);
    require(
        pair.queuePair().isDirect() == isDirect,
        "all queues are direct by -Ddev.verbena.direct: do not set it");
    receives.local(0, bench.memory, HALF + RECEIVED, MAX_LENGTH);
    receives.local(1, bench.memory, HALF + RECEIVED_NEXT, MAX_LENGTH);
  }

  /**
   * The times of both paths, in nanoseconds of a round from the first post to the last completion.
   *
   * @param rounds the number of rounds on each path
   * @param provider the median through the provider library
   * @param direct the median on the direct data path
   * @param provider99 the 99th percentile through the provider library
   * @param direct99 the 99th percentile on the direct data path
   */
  public record Result(int rounds, long provider, long direct, long provider99, long direct99) {}

  /**
   * Runs rounds on both paths.
   *
   * @param device a device that has the direct data path
   * @param port the port of the device
   * @param gidIndex the index of the GID; negative to choose one
   * @throws IllegalStateException if a completion or a byte differs: the message has the seed and
   *     the round; or if all queues are direct, by a system property
   */
  public static Result run(Device device, int port, int gidIndex, int rounds, long seed) {
    long[][] nanos = new long[2][rounds];
    try (Bench ofProvider = new Bench(device, false, port, gidIndex);
        Bench ofDirect = new Bench(device, true, port, gidIndex)) {
      ShadowExchange provider = new ShadowExchange(ofProvider, false);
      ShadowExchange direct = new ShadowExchange(ofDirect, true);
      for (int round = 0; round < rounds; round++) {
        // The path that is first in one round is second in the next one.
        for (ShadowExchange path :
            round % 2 == 0 ? List.of(provider, direct) : List.of(direct, provider)) {
          nanos[path.isDirect ? 1 : 0][round] = path.run(new Random(seed + round));
        }
        requireEqual(provider, direct, "round " + round + " with seed " + seed);
      }
    }
    Arrays.sort(nanos[0]);
    Arrays.sort(nanos[1]);
    int last = rounds * 99 / 100;
    return new Result(
        rounds, nanos[0][rounds / 2], nanos[1][rounds / 2], nanos[0][last], nanos[1][last]);
  }

  private static void requireEqual(ShadowExchange provider, ShadowExchange direct, String where) {
    require(
        provider.seen.equals(direct.seen),
        "%s: completions of the provider library %s, of the direct data path %s"
            .formatted(where, provider.seen, direct.seen));
    long at = provider.bench.memory.memory().mismatch(direct.bench.memory.memory());
    require(
        at < 0,
        "%s, memory of the %s: byte %d differs"
            .formatted(where, at < HALF ? "requester" : "responder", at % HALF));
  }

  /**
   * What a completion says that does not depend on the queue pair. That of a send has neither a
   * length nor immediate data.
   */
  private record Seen(
      long id, int status, int opcode, long length, int immediate, boolean hasImmediate) {
    static Seen of(Completions completions) {
      boolean hasImmediate =
          completions.isReceive(0) && completions.has(0, CompletionFlag.WITH_IMM);
      return new Seen(
          completions.id(0),
          completions.statusCode(0),
          completions.opcodeCode(0),
          completions.isReceive(0) ? completions.byteLength(0) : 0,
          hasImmediate ? completions.immediate(0) : 0,
          hasImmediate);
    }
  }

  /** Runs a round, and returns its nanoseconds. */
  private long run(Random random) {
    for (long at = 0; at < COUNTER; at += Long.BYTES) {
      bench.memory.memory().set(ValueLayout.JAVA_LONG, at, random.nextLong());
    }
    long far = bench.memory.start() + HALF;
    int key = bench.memory.rkey();
    int read = length(random);
    sends.write(0).local(bench.memory, WRITTEN, length(random)).remote(far + WRITTEN, key);
    sends.send(1).local(bench.memory, RECEIVED, length(random));
    sends.sendWithImmediate(2, random.nextInt()).local(bench.memory, RECEIVED, length(random));
    sends.read(3).local(bench.memory, RECEIVED_NEXT, read).remote(far + WRITTEN, key);
    sends.fetchAndAdd(4, random.nextLong()).local(bench.memory, COUNTER, Long.BYTES);
    sends.remote(4, far + COUNTER, key);
    for (int i = 0; i < REQUESTS; i++) {
      sends.signaled(i);
      sends.id(i, random.nextLong());
    }
    for (int i = 0; i < RECEIVES; i++) {
      receives.id(i, random.nextLong());
    }
    seen.clear();
    require(pair.peer().post(receives) == RECEIVES, "the receive queue is full");
    long start = System.nanoTime();
    bench.post(pair.queuePair(), sends);
    await(bench.completions, REQUESTS);
    await(bench.peerCompletions, RECEIVES);
    return System.nanoTime() - start;
  }

  private static int length(Random random) {
    return random.nextInt(1, MAX_LENGTH + 1);
  }

  private void await(CompletionQueue queue, int number) {
    for (int i = 0; i < number; i++) {
      seen.add(Seen.of(bench.success(queue)));
    }
  }
}
