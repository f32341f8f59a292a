package dev.verbena.internal.mlx5;

import dev.verbena.values.QueuePairType;
import dev.verbena.verbs.CompletionQueue;
import dev.verbena.verbs.MemoryRegion;
import dev.verbena.verbs.QueuePair;
import dev.verbena.verbs.QueuePairSession;
import java.util.Arrays;
import java.util.Random;
import java.util.function.Consumer;

/** Sessions of the same queue pair in both data paths, which get the same random calls. */
final class SessionPair {
  private static final int LONGEST = 400;

  final QueuePairSession inC;
  final QueuePairSession direct;
  private final Random random;
  private final MemoryRegion region;
  private final boolean isReliable;

  /** The kind of each request; -1 if it is unformatted. */
  private final int[] kinds;

  SessionPair(
      QueuePair pairInC,
      CompletionQueue queueInC,
      QueuePair directPair,
      CompletionQueue directQueue,
      int requests,
      MemoryRegion region,
      Random random) {
    this.inC = QueuePairSession.on(pairInC, queueInC, requests);
    this.direct = QueuePairSession.on(directPair, directQueue, requests);
    this.random = random;
    this.region = region;
    this.isReliable = pairInC.type() == QueuePairType.RC;
    this.kinds = new int[requests];
    Arrays.fill(kinds, -1);
  }

  private void both(Consumer<QueuePairSession> call) {
    call.accept(inC);
    call.accept(direct);
  }

  private static boolean isReceived(int kind) {
    return kind < 3;
  }

  private long remote() {
    return region.start() + 8L * random.nextInt((int) (region.length() - 2 * LONGEST) / 8);
  }

  /**
   * Formats or patches a request.
   *
   * @param mayReceive whether the peer has a receive request for it
   * @return whether it takes a receive request
   */
  boolean prepare(int i, long id, boolean mayReceive) {
    if (kinds[i] < 0 || random.nextInt(3) == 0 || (isReceived(kinds[i]) && !mayReceive)) {
      format(i, mayReceive);
    } else {
      patch(i);
    }
    int length = random.nextInt(6) == 0 ? 0 : random.nextInt(LONGEST);
    long offset = 8L * random.nextInt((int) (region.length() - LONGEST) / 8);
    if (random.nextInt(8) > 0) { // Otherwise the last data, or none.
      both(session -> session.local(i, id, region, offset, length));
    }
    return isReceived(kinds[i]);
  }

  private void format(int i, boolean mayReceive) {
    int value = random.nextInt();
    long address = remote();
    int key = random.nextInt(2000) == 0 ? value : region.rkey();
    kinds[i] = (mayReceive ? 0 : 3) + random.nextInt((isReliable ? 5 : 4) - (mayReceive ? 0 : 3));
    both(
        session -> {
          switch (kinds[i]) {
            case 0 -> session.send(i);
            case 1 -> session.sendWithImmediate(i, value);
            case 2 -> session.writeWithImmediate(i, value, address, key);
            case 3 -> session.write(i, address, key);
            default -> session.read(i, address, key);
          }
        });
    flags(i);
  }

  private void flags(int i) {
    boolean isSignaled = random.nextBoolean();
    boolean isFenced = random.nextInt(8) == 0;
    boolean isSolicited = random.nextInt(8) == 0;
    both(
        session -> {
          session.signaled(i, isSignaled);
          session.fenced(i, isFenced);
          session.solicited(i, isSolicited);
        });
  }

  private void patch(int i) {
    int value = random.nextInt();
    long address = remote();
    if (random.nextBoolean()) {
      flags(i);
    }
    if ((kinds[i] == 1 || kinds[i] == 2) && random.nextBoolean()) {
      both(session -> session.immediate(i, value));
    }
    if (kinds[i] >= 2 && random.nextBoolean()) {
      both(session -> session.remote(i, address, region.rkey()));
    }
  }

  void signaled(int i) {
    both(session -> session.signaled(i, true));
  }
}
