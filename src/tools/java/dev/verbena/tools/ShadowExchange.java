package dev.verbena.tools;

import dev.verbena.tools.command.Link;
import dev.verbena.tools.command.Patience;
import dev.verbena.verbs.AccessFlag;
import dev.verbena.verbs.CompletionFlag;
import dev.verbena.verbs.CompletionQueue;
import dev.verbena.verbs.Completions;
import dev.verbena.verbs.Context;
import dev.verbena.verbs.MemoryRegion;
import dev.verbena.verbs.ProtectionDomain;
import dev.verbena.verbs.QueuePair;
import dev.verbena.verbs.QueuePairCapacity;
import dev.verbena.verbs.QueuePairSetup;
import dev.verbena.verbs.QueuePairType;
import dev.verbena.verbs.ReceiveList;
import dev.verbena.verbs.SendList;
import java.lang.foreign.ValueLayout;
import java.time.Duration;
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
final class ShadowExchange {
  private static final int MAX_LENGTH = 1024;
  private static final int WRITTEN = 0;
  private static final int RECEIVED = 1024;
  private static final int RECEIVED_NEXT = 2048;
  private static final int COUNTER = 3072;
  private static final int SIZE = 4096;
  private static final int REQUESTS = 5;
  private static final int RECEIVES = 2;

  private static final Duration PATIENCE = Duration.ofSeconds(10);

  private ShadowExchange() {}

  /**
   * The times of both paths, in nanoseconds of a round from the first post to the last completion.
   *
   * @param rounds the number of rounds on each path
   * @param provider the median through the provider library
   * @param direct the median on the direct data path
   * @param provider99 the 99th percentile through the provider library
   * @param direct99 the 99th percentile on the direct data path
   */
  record Result(int rounds, long provider, long direct, long provider99, long direct99) {}

  /**
   * Runs rounds on both paths.
   *
   * @param context a context that has the direct data path
   * @param port the port of the device
   * @param gidIndex the index of the GID; negative to choose one
   * @throws IllegalStateException if a completion or a byte differs: the message has the seed and
   *     the round; or if all queues are direct, by a system property
   */
  static Result run(Context context, int port, int gidIndex, int rounds, long seed) {
    long[][] nanos = new long[2][rounds];
    try (Path provider = new Path(context, false, port, gidIndex);
        Path direct = new Path(context, true, port, gidIndex)) {
      for (int round = 0; round < rounds; round++) {
        // The path that is first in one round is second in the next one.
        for (Path path : round % 2 == 0 ? List.of(provider, direct) : List.of(direct, provider)) {
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

  private static void requireEqual(Path provider, Path direct, String where) {
    if (!provider.seen.equals(direct.seen)) {
      throw new IllegalStateException(
          "%s: completions of the provider library %s, of the direct data path %s"
              .formatted(where, provider.seen, direct.seen));
    }
    requireEqual(provider.near, direct.near, where + ", memory of the requester");
    requireEqual(provider.far, direct.far, where + ", memory of the responder");
  }

  private static void requireEqual(MemoryRegion provider, MemoryRegion direct, String where) {
    long at = provider.memory().mismatch(direct.memory());
    if (at >= 0) {
      throw new IllegalStateException(where + ": byte " + at + " differs");
    }
  }

  /**
   * What a completion says that does not depend on the queue pair. That of a send has neither a
   * length nor immediate data.
   */
  private record Seen(
      long id, int status, int opcode, long length, int immediate, boolean hasImmediate) {
    static Seen of(Completions completions, int index) {
      boolean hasImmediate =
          completions.isReceive(index) && completions.has(index, CompletionFlag.WITH_IMM);
      return new Seen(
          completions.id(index),
          completions.statusCode(index),
          completions.opcodeCode(index),
          completions.isReceive(index) ? completions.byteLength(index) : 0,
          hasImmediate ? completions.immediate(index) : 0,
          hasImmediate);
    }
  }

  /** The queues and the memory of one data path. */
  private static final class Path implements AutoCloseable {
    private final boolean isDirect;
    private final CompletionQueue sent;
    private final CompletionQueue received;
    private final QueuePair requester;
    private final QueuePair responder;
    private final MemoryRegion near;
    private final MemoryRegion far;
    private final SendList sends = new SendList(REQUESTS, 1);
    private final ReceiveList receives = new ReceiveList(RECEIVES, 1);
    private final Completions completions = new Completions(REQUESTS);
    private final List<Seen> seen = new ArrayList<>();
    private final ProtectionDomain domain;

    Path(Context context, boolean isDirect, int port, int gidIndex) {
      this.isDirect = isDirect;
      domain = context.allocateProtectionDomain();
      sent = queue(context);
      received = queue(context);
      requester = queuePair(port, gidIndex);
      responder = queuePair(port, gidIndex);
      if (requester.isDirect() != isDirect) {
        throw new IllegalStateException(
            "all queues are direct by -Ddev.verbena.direct: do not set it");
      }
      var requesterAddress = requester.localAddress();
      requester.connect(responder.localAddress());
      responder.connect(requesterAddress);
      near = region();
      far = region();
      receives.local(0, far, RECEIVED, MAX_LENGTH);
      receives.local(1, far, RECEIVED_NEXT, MAX_LENGTH);
    }

    private CompletionQueue queue(Context context) {
      CompletionQueue.Builder builder = context.completionQueue(4 * REQUESTS);
      return (isDirect ? builder.direct() : builder).create();
    }

    private QueuePair queuePair(int port, int gidIndex) {
      QueuePair made =
          domain
              .queuePair(QueuePairType.RC)
              .sendCompletions(sent)
              .receiveCompletions(received)
              .capacity(QueuePairCapacity.of(2 * REQUESTS))
              .create();
      QueuePairSetup setup = made.setup().port(port);
      if (gidIndex >= 0) {
        var _ = setup.gid(gidIndex);
      }
      return made;
    }

    private MemoryRegion region() {
      return domain.allocateMemory(
          SIZE,
          AccessFlag.LOCAL_WRITE,
          AccessFlag.REMOTE_WRITE,
          AccessFlag.REMOTE_READ,
          AccessFlag.REMOTE_ATOMIC);
    }

    /** Runs a round, and returns its nanoseconds. */
    long run(Random random) {
      for (long at = 0; at < COUNTER; at += Long.BYTES) {
        near.memory().set(ValueLayout.JAVA_LONG, at, random.nextLong());
      }
      int read = length(random);
      sends.write(0).local(near, WRITTEN, length(random)).remote(far.start(), far.rkey());
      sends.send(1).local(near, RECEIVED, length(random));
      sends.sendWithImmediate(2, random.nextInt()).local(near, RECEIVED, length(random));
      sends.read(3).local(near, RECEIVED_NEXT, read).remote(far.start() + WRITTEN, far.rkey());
      sends.fetchAndAdd(4, random.nextLong()).local(near, COUNTER, Long.BYTES);
      sends.remote(4, far.start() + COUNTER, far.rkey());
      for (int i = 0; i < REQUESTS; i++) {
        sends.signaled(i);
        sends.id(i, random.nextLong());
      }
      for (int i = 0; i < RECEIVES; i++) {
        receives.id(i, random.nextLong());
      }
      seen.clear();
      Link.require(responder.post(receives), RECEIVES);
      long start = System.nanoTime();
      Link.require(requester.post(sends), REQUESTS);
      await(sent, REQUESTS);
      await(received, RECEIVES);
      return System.nanoTime() - start;
    }

    private static int length(Random random) {
      return random.nextInt(1, MAX_LENGTH + 1);
    }

    private void await(CompletionQueue queue, int number) {
      for (int done = 0; done < number; done += completions.count()) {
        int rest = number - done;
        Patience.spin(() -> queue.poll(completions, rest) > 0, PATIENCE);
        for (int i = 0; i < completions.count(); i++) {
          if (!completions.isSuccess(i)) {
            throw new IllegalStateException(completions.describe(i));
          }
          seen.add(Seen.of(completions, i));
        }
      }
    }

    @Override
    public void close() {
      sent.close();
      received.close();
      domain.close();
    }
  }
}
