package dev.verbena.tools.qualify;

import static dev.verbena.tools.qualify.Bench.HALF;
import static dev.verbena.tools.qualify.Bench.require;

import dev.verbena.tools.qualify.Bench.Pair;
import dev.verbena.values.CompletionFlag;
import dev.verbena.values.CompletionOpcode;
import dev.verbena.values.CompletionStatus;
import dev.verbena.values.QueuePairCapacity;
import dev.verbena.verbs.CompletionQueue;
import dev.verbena.verbs.Completions;
import dev.verbena.verbs.Device;
import dev.verbena.verbs.QueuePairSession;
import dev.verbena.verbs.ReceiveList;
import dev.verbena.verbs.SendList;
import dev.verbena.verbs.SendRequest;
import java.lang.foreign.ValueLayout;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Random;
import java.util.stream.IntStream;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;

/**
 * The same exchanges through the provider library and on the direct data path, in turns, between
 * two queue pairs of one device each. Memory and completions of both are compared after each round.
 *
 * <p>A round is a write of inline data, a send with several SGEs, a send with immediate data, a
 * read and a fetch-and-add, with random data and lengths. They are posted in each of the forms in
 * turn; after half of the posts, their completions are polled before the next one.
 */
public final class ShadowExchange {
  private static final int MAX_LENGTH = 1024;
  private static final int WRITTEN = 0;
  private static final int RECEIVED = 1024;
  private static final int RECEIVED_NEXT = 2048;
  private static final int COUNTER = 3072;
  private static final int REQUESTS = 5;
  private static final int RECEIVES = 2;

  // With so many bytes of a write, or SGEs of a send, an entry has the four blocks of a register.
  private static final int INLINE = 220;
  private static final int SGES = 15;
  private static final int SGE_LENGTH = MAX_LENGTH / (SGES + 1);
  private static final QueuePairCapacity CAPACITY =
      QueuePairCapacity.of(16).withSendSges(SGES).withMaxInlineData(INLINE);

  /** Where the local data of the requests of a session is: a write, a send, a read, a write. */
  private static final int[] OF_SESSION = {WRITTEN, RECEIVED, RECEIVED_NEXT, RECEIVED};

  private static final int WITH_IMMEDIATE = 3;

  private final boolean isDirect;
  private final long[] nanos;
  private final Bench bench;
  private final Pair pair;
  private final long remote;
  private final int key;
  private final SendList sends = new SendList(REQUESTS, SGES, INLINE);
  private final ReceiveList receives = new ReceiveList(RECEIVES, 1);
  private final QueuePairSession session;
  private final QueuePairSession peerSession;
  private final List<Seen> seen = new ArrayList<>();

  private ShadowExchange(Bench bench, boolean isDirect, int rounds) {
    this.bench = bench;
    this.isDirect = isDirect;
    nanos = new long[rounds];
    pair = bench.pair(CAPACITY);
    require(
        pair.queuePair().isDirect() == isDirect,
        "all queues are direct by -Ddev.verbena.direct: do not set it");
    remote = bench.memory.start() + HALF;
    key = bench.memory.rkey();
    receives.local(0, bench.memory, HALF + RECEIVED, MAX_LENGTH);
    receives.local(1, bench.memory, HALF + RECEIVED_NEXT, MAX_LENGTH);
    session = QueuePairSession.on(pair.queuePair(), bench.completions, OF_SESSION.length);
    peerSession = QueuePairSession.on(pair.peer(), bench.peerCompletions, 1);
    session.write(0, remote + WRITTEN, key);
    session.send(1);
    session.read(2, remote + WRITTEN, key);
    session.writeWithImmediate(WITH_IMMEDIATE, 0, remote + RECEIVED_NEXT, key);
    for (int i = 0; i < session.size(); i++) {
      session.signaled(i, true);
    }
  }

  /** How the requests of a round are posted. */
  private enum Form {
    ONE_LIST,
    /** What the direct data path copies into a doorbell register. */
    ONE_REQUEST_PER_POST,
    /**
     * All but the fetch-and-add, singly or several at once; the one with immediate data is a write.
     * Sessions poll all completions.
     */
    SESSION;

    static Form of(int round) {
      return values()[round % values().length];
    }

    @Override
    public String toString() {
      return name().toLowerCase(Locale.ROOT).replace('_', ' ');
    }
  }

  private Map<String, Object> row(Form form) {
    IntStream rounds = IntStream.range(0, nanos.length).filter(round -> Form.of(round) == form);
    String language = isDirect ? "Java, direct" : "Java";
    return DataPathTimes.row(
        "shadow mode, " + form, language, rounds.mapToLong(round -> nanos[round]).toArray());
  }

  /**
   * Runs rounds on both paths, after some that are compared but not measured.
   *
   * @param device a device that has the direct data path
   * @param port the port of the device
   * @param gidIndex the index of the GID; negative to choose one
   * @return rows of a report: for each form that has a round, the nanoseconds from the first post
   *     to the last completion, on both paths
   * @throws IllegalStateException if a completion or a byte differs, or a round fails: the message
   *     has the seed and the round; or if all queues are direct, by a system property
   */
  public static List<Map<String, Object>> run(
      Device device, int port, int gidIndex, int rounds, long seed) {
    try (Bench ofProvider = new Bench(device, false, port, gidIndex);
        Bench ofDirect = new Bench(device, true, port, gidIndex)) {
      ShadowExchange provider = new ShadowExchange(ofProvider, false, rounds);
      ShadowExchange direct = new ShadowExchange(ofDirect, true, rounds);
      long start = System.nanoTime();
      for (int i = 0; System.nanoTime() - start < DataPathTimes.WARM_UP_NANOS; i++) {
        round(provider, direct, i % rounds, seed, "warm-up, "); // Its times are overwritten.
      }
      for (int round = 0; round < rounds; round++) {
        round(provider, direct, round, seed, "");
      }
      return Arrays.stream(Form.values())
          .limit(rounds)
          .flatMap(form -> Stream.of(provider.row(form), direct.row(form)))
          .toList();
    }
  }

  private static void round(
      ShadowExchange provider, ShadowExchange direct, int round, long seed, String when) {
    String where = "%sround %d, %s, with seed %d".formatted(when, round, Form.of(round), seed);
    // The path that is first in one round is second in the next one.
    (round % 2 == 0 ? provider : direct).run(round, seed, where);
    (round % 2 == 0 ? direct : provider).run(round, seed, where);
    requireEqual(provider, direct, where);
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

  private void run(int round, long seed, String where) {
    try {
      nanos[round] = run(Form.of(round), new Random(seed + round));
    } catch (IllegalStateException e) {
      String path = isDirect ? "direct data path" : "provider library";
      throw new IllegalStateException(where + ", " + path + ": " + e.getMessage(), e);
    }
  }

  /** Runs a round, and returns its nanoseconds. */
  private long run(Form form, Random random) {
    for (long at = 0; at < COUNTER; at += Long.BYTES) {
      bench.memory.memory().set(ValueLayout.JAVA_LONG, at, random.nextLong());
    }
    prepare(random);
    seen.clear();
    require(pair.peer().post(receives) == RECEIVES, "the receive queue is full");
    long start = System.nanoTime();
    for (int posted = 0; posted < REQUESTS; ) {
      posted += post(form, posted, random);
      // The next one finds the queue empty or not.
      if (posted == REQUESTS || random.nextBoolean()) {
        await(form, session, bench.completions, posted);
      }
    }
    await(form, peerSession, bench.peerCompletions, REQUESTS + RECEIVES);
    return System.nanoTime() - start;
  }

  /** Posts requests that were not posted yet, and returns their number. */
  private int post(Form form, int from, Random random) {
    boolean isBySession = form == Form.SESSION && from < session.size();
    int count =
        switch (form) {
          case ONE_LIST -> REQUESTS;
          case ONE_REQUEST_PER_POST -> 1;
          case SESSION -> isBySession ? random.nextInt(1, session.size() - from + 1) : 1;
        };
    int posted =
        isBySession ? session.post(from, count) : pair.queuePair().post(sends, from, count);
    require(posted == count, "the send queue is full");
    return count;
  }

  /** Sets all that is random, of the list and of the session. */
  private void prepare(Random random) {
    int read = length(random);
    sends
        .write(0)
        .inline(bench.memory.memory().asSlice(WRITTEN, random.nextInt(1, INLINE + 1)))
        .remote(remote + WRITTEN, key);
    SendRequest send = sends.send(1);
    for (int i = random.nextInt(SGES); i >= 0; i--) {
      send.local(bench.memory, RECEIVED + i * SGE_LENGTH, random.nextInt(SGE_LENGTH + 1));
    }
    sends.sendWithImmediate(2, random.nextInt()).local(bench.memory, RECEIVED, length(random));
    sends.read(3).local(bench.memory, RECEIVED_NEXT, read).remote(remote + WRITTEN, key);
    sends.fetchAndAdd(4, random.nextLong()).local(bench.memory, COUNTER, Long.BYTES);
    sends.remote(4, remote + COUNTER, key);
    for (int i = 0; i < REQUESTS; i++) {
      sends.signaled(i);
      sends.id(i, random.nextLong());
    }
    for (int i = 0; i < RECEIVES; i++) {
      receives.id(i, random.nextLong());
    }
    for (int i = 0; i < session.size(); i++) {
      session.local(i, random.nextLong(), bench.memory, OF_SESSION[i], length(random));
    }
    session.immediate(WITH_IMMEDIATE, random.nextInt());
  }

  /** A request or an SGE without data has no data segment. */
  private static int length(Random random) {
    return random.nextInt(8) == 0 ? 0 : random.nextInt(1, MAX_LENGTH + 1);
  }

  /** Polls until a number of completions were seen in this round. */
  private void await(Form form, QueuePairSession poller, CompletionQueue queue, int number) {
    while (seen.size() < number) {
      seen.add(
          form == Form.SESSION ? Seen.of(bench.success(poller)) : Seen.of(bench.success(queue)));
    }
  }

  /**
   * What a completion says that does not depend on the queue pair. Only that of a receive or a read
   * has a length.
   */
  private record Seen(
      long id,
      CompletionStatus status,
      CompletionOpcode opcode,
      long length,
      @Nullable Integer immediate) {
    static Seen of(Completions one) {
      CompletionOpcode opcode = one.opcode(0);
      boolean isReceive = one.isReceive(0);
      long length = isReceive || opcode == CompletionOpcode.RDMA_READ ? one.byteLength(0) : 0;
      boolean hasImmediate = isReceive && one.has(0, CompletionFlag.WITH_IMM);
      Integer immediate = hasImmediate ? one.immediate(0) : null;
      return new Seen(one.id(0), one.status(0), opcode, length, immediate);
    }

    static Seen of(QueuePairSession one) {
      CompletionOpcode opcode = one.opcode();
      boolean hasLength = one.isReceive() || opcode == CompletionOpcode.RDMA_READ;
      boolean hasImmediate = opcode == CompletionOpcode.RECV_RDMA_WITH_IMM;
      long length = hasLength ? one.byteLength() : 0;
      Integer immediate = hasImmediate ? one.immediate() : null;
      return new Seen(one.id(), one.status(), opcode, length, immediate);
    }
  }
}
