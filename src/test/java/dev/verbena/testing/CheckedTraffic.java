package dev.verbena.testing;

import static dev.verbena.testing.CheckedTraffic.Operation.FETCH_ADD;
import static dev.verbena.testing.CheckedTraffic.Operation.READ;

import dev.verbena.VerbsException;
import dev.verbena.values.CompletionOpcode;
import dev.verbena.values.CompletionStatus;
import dev.verbena.values.QueuePairType;
import dev.verbena.verbs.AddressHandle;
import dev.verbena.verbs.CompletionCursor;
import dev.verbena.verbs.CompletionQueue;
import dev.verbena.verbs.Completions;
import dev.verbena.verbs.ExtendedCompletionQueue;
import dev.verbena.verbs.MemoryRegion;
import dev.verbena.verbs.Posting;
import dev.verbena.verbs.PostingRequest;
import dev.verbena.verbs.QueuePair;
import dev.verbena.verbs.ReceiveList;
import dev.verbena.verbs.ReceiveQueue;
import dev.verbena.verbs.SendList;
import dev.verbena.verbs.SendRequest;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.ExecutorCompletionService;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.locks.LockSupport;
import java.util.stream.LongStream;
import org.jspecify.annotations.Nullable;

/**
 * Requests of one queue pair to another: each queue is filled by threads of its own, which post
 * whenever there is room, and polled by one more. Each completion must have the {@code wr_id},
 * opcode, length and data of the next request.
 */
public final class CheckedTraffic {
  /** The bytes of a region of either end. */
  public static final int MEMORY = 1 << 15;

  /** What a completion queue holds at most. */
  public static final int COMPLETIONS = 128;

  private static final int SLOT = 128;

  /** Requests of one poster that were not checked: more than a queue holds. */
  private static final int SLOTS = 32;

  private static final int GRH = 40;
  private static final int BATCH = 3;
  private static final int SHIFT = 48;
  private static final int WRITTEN = MEMORY / 2;
  private static final int RECEIVED = 0;

  /** What is requested. */
  public enum Operation {
    /** A message. */
    SEND(CompletionOpcode.SEND),
    /** A message with immediate data. */
    SEND_IMM(CompletionOpcode.SEND),
    /** A write that takes a receive request. */
    WRITE_IMM(CompletionOpcode.RDMA_WRITE),
    /** A write. */
    WRITE(CompletionOpcode.RDMA_WRITE),
    /** A read. */
    READ(CompletionOpcode.RDMA_READ),
    /** An atomic addition of 1. */
    FETCH_ADD(CompletionOpcode.ATOMIC_FETCH_AND_ADD);

    private final CompletionOpcode opcode;

    Operation(CompletionOpcode opcode) {
      this.opcode = opcode;
    }

    /** Whether it takes a receive request. */
    boolean isReceived() {
      return compareTo(WRITE) < 0;
    }
  }

  /**
   * The ends, and how they are used.
   *
   * @param from posts the requests
   * @param sent its completion queue
   * @param source its memory, zeros
   * @param to takes the requests
   * @param receives where receive requests are posted
   * @param received their completion queue
   * @param target the memory of {@code to}, zeros
   * @param handle the path of datagrams
   * @param sharedNumber the shared receive queue of {@code to} that requests name, or -1
   * @param operations what is posted, in turn
   * @param posters how many threads post to each queue that is filled
   * @param posting whether requests are posted through {@link Posting}
   * @param everySignaled whether each request is signaled, not one of three
   */
  public record Setting(
      QueuePair from,
      CompletionQueue sent,
      MemoryRegion source,
      QueuePair to,
      ReceiveQueue receives,
      CompletionQueue received,
      MemoryRegion target,
      @Nullable AddressHandle handle,
      int sharedNumber,
      List<Operation> operations,
      int posters,
      boolean posting,
      boolean everySignaled) {}

  /** What happens to the queue pairs while they are in use. */
  public enum Disturbance {
    /** Nothing. */
    NONE,
    /** Both are transitioned to ERR: every request that was posted completes. */
    FAIL,
    /** Both are reset. */
    RESET,
    /** Both are closed. */
    CLOSE
  }

  private record Seen(long id, CompletionStatus status, CompletionOpcode opcode, long length) {}

  /** Requests that one thread posts, in order. */
  private static final class Poster {
    final int tag;
    final long total;
    volatile long posted;
    volatile long checked;

    /** Whether a request has failed: then each later one does, signaled or not. */
    boolean failed;

    Poster(int tag, long total) {
      this.tag = tag;
      this.total = total;
    }

    int batch(long next, long limit) {
      return (int) Math.min(BATCH, Math.min(limit, checked + SLOTS) - next);
    }

    long slot(long request) {
      return (tag * (long) SLOTS + request % SLOTS) * SLOT;
    }
  }

  private final Setting setting;
  private final Disturbance disturbance;
  private final List<Poster> senders;
  private final List<Poster> receivers;
  private final boolean messages;
  private final long total;

  /** The posters that have not ended. */
  private final CountDownLatch posting;

  private long messagesSeen;
  private volatile boolean ending;
  private volatile boolean ended;
  private volatile boolean failed;

  private CheckedTraffic(Setting setting, Disturbance disturbance, long requests) {
    this.setting = setting;
    this.disturbance = disturbance;
    total = requests;
    messages = setting.operations.getFirst().isReceived();
    // Two threads would not tell which message is which, nor in which order one is taken.
    senders = posters(messages ? 1 : setting.posters);
    receivers = posters(messages ? setting.posters : 0);
    posting = new CountDownLatch(senders.size() + receivers.size());
  }

  private List<Poster> posters(int count) {
    List<Poster> posters = new ArrayList<>();
    for (int i = 0; i < count; i++) {
      posters.add(new Poster(i, total / count));
    }
    return posters;
  }

  /** Makes so many requests, a multiple of the posters, and throws what was wrong. */
  public static void run(Setting setting, Disturbance disturbance, long requests)
      throws InterruptedException {
    new CheckedTraffic(setting, disturbance, requests).run();
  }

  private interface Task {
    void run();
  }

  private void run() throws InterruptedException {
    ExecutorService threads = Executors.newCachedThreadPool();
    try {
      var tasks = new ExecutorCompletionService<Object>(threads);
      int count = 1 + senders.size() + receivers.size() + (messages ? 1 : 0);
      receivers.forEach(poster -> submit(tasks, () -> postReceives(poster)));
      senders.forEach(poster -> submit(tasks, () -> postSends(poster)));
      submit(tasks, () -> poll(setting.sent, senders, this::checkSent));
      if (messages) {
        submit(tasks, () -> poll(setting.received, receivers, this::checkReceived));
      }
      if (disturbance != Disturbance.NONE) {
        count++;
        submit(tasks, this::disturb);
      }
      for (int i = 0; i < count; i++) {
        tasks.take().get();
      }
    } catch (ExecutionException e) {
      throw new AssertionError(e.getCause().toString(), e.getCause());
    } finally {
      failed = true; // Ends the others if one has thrown.
      threads.shutdownNow();
      threads.close();
    }
  }

  private static void submit(ExecutorCompletionService<Object> tasks, Task task) {
    tasks.submit(
        () -> {
          task.run();
          return task;
        });
  }

  private void disturb() {
    Poster first = senders.getFirst();
    Await.until(() -> "half of the requests", () -> failed || first.posted >= first.total / 2);
    ending = true;
    switch (disturbance) {
      case FAIL -> {
        setting.from.fail();
        setting.to.fail();
      }
      case RESET -> {
        setting.from.reset();
        setting.to.reset();
      }
      default -> {
        setting.from.close();
        setting.to.close();
      }
    }
    ended = true;
    if (disturbance == Disturbance.FAIL) {
      Await.until(() -> "the end of the posters", () -> failed || posting.getCount() == 0);
      // Soft-RoCE completes what is posted in ERR only when the queue pair is modified once more.
      setting.to.fail();
    }
  }

  private boolean goesOn(Poster poster, long next) {
    return !failed && !ended && next < poster.total;
  }

  // Posting

  private void postReceives(Poster poster) {
    ReceiveList list = new ReceiveList(BATCH, 1);
    fill(
        poster,
        poster.total,
        (next, count) -> {
          for (int i = 0; i < count; i++) {
            list.id(i, id(poster, next + i));
            list.local(i, setting.target, RECEIVED + poster.slot(next + i), SLOT);
          }
          return setting.receives.post(list, 0, count);
        });
  }

  private interface Post {
    int post(long next, int count);
  }

  private void fill(Poster poster, long limit, Post post) {
    try {
      for (long next = 0; goesOn(poster, next); ) {
        int count = poster.batch(next, limit(poster, limit));
        int taken = count <= 0 ? 0 : post.post(next, count);
        next += taken;
        poster.posted = next;
        if (taken == 0) {
          LockSupport.parkNanos(1_000);
        }
      }
    } catch (IllegalStateException | VerbsException e) {
      if (!ending) {
        throw e;
      }
    } finally {
      posting.countDown();
    }
  }

  /** Messages wait for the receive requests that they take. */
  private long limit(Poster poster, long limit) {
    return messages && senders.contains(poster)
        ? Math.min(limit, receivers.stream().mapToLong(r -> r.posted).sum())
        : limit;
  }

  private void postSends(Poster poster) {
    SendList list = new SendList(BATCH, 1);
    MemorySegment source = setting.source.memory();
    fill(
        poster,
        poster.total,
        (next, count) -> {
          for (int i = 0; i < count; i++) {
            if (operation(next + i) != READ && operation(next + i) != FETCH_ADD) {
              write(source, poster.slot(next + i), length(next + i), next + i);
            }
          }
          if (setting.posting) {
            // All are posted or none; those that wait for the one signaled leave room for it.
            int posted = post(poster, next, count);
            return posted == 0 && count > 1 ? post(poster, next, 1) : posted;
          }
          for (int i = 0; i < count; i++) {
            prepare(list, i, poster, next + i);
          }
          return setting.from.post(list, 0, count);
        });
  }

  private void prepare(SendList list, int index, Poster poster, long number) {
    Operation operation = operation(number);
    SendRequest request =
        switch (operation) {
          case SEND -> list.send(index);
          case SEND_IMM -> list.sendWithImmediate(index, (int) number);
          case WRITE_IMM -> list.writeWithImmediate(index, (int) number);
          case WRITE -> list.write(index);
          case READ -> list.read(index);
          case FETCH_ADD -> list.fetchAndAdd(index, 1);
        };
    request.id(id(poster, number)).local(setting.source, poster.slot(number), length(number));
    if (isRemote(operation)) {
      request.remote(remote(poster, number), setting.target.rkey());
    }
    if (setting.handle != null) {
      request.to(setting.handle, setting.to.number(), setting.to.localAddress().queueKey());
    }
    if (setting.sharedNumber >= 0) {
      request.sharedReceiveQueue(setting.sharedNumber);
    }
    if (isSignaled(poster, number)) {
      request.signaled();
    } else {
      list.unsignaled(index);
    }
  }

  /** A queue pair has a single posting, which the other poster must not find open. */
  private synchronized int post(Poster poster, long first, int count) {
    try (Posting posting = setting.from.startPosting()) {
      int rkey = setting.target.rkey();
      for (long number = first; number < first + count; number++) {
        long remote = remote(poster, number);
        PostingRequest request =
            switch (operation(number)) {
              case SEND -> posting.send();
              case SEND_IMM -> posting.sendWithImmediate((int) number);
              case WRITE_IMM -> posting.writeWithImmediate(remote, rkey, (int) number);
              case WRITE -> posting.write(remote, rkey);
              case READ -> posting.read(remote, rkey);
              case FETCH_ADD -> posting.fetchAndAdd(remote, rkey, 1);
            };
        request.id(id(poster, number)).local(setting.source, poster.slot(number), length(number));
        if (isSignaled(poster, number)) {
          request.signaled();
        }
        if (setting.handle != null) {
          request.to(setting.handle, setting.to.number(), setting.to.localAddress().queueKey());
        }
        if (setting.sharedNumber >= 0) {
          request.sharedReceiveQueue(setting.sharedNumber);
        }
      }
      return posting.complete();
    }
  }

  // What a request is

  private Operation operation(long number) {
    return setting.operations.get((int) (number % setting.operations.size()));
  }

  private static boolean isRemote(Operation operation) {
    return operation.compareTo(Operation.WRITE_IMM) >= 0;
  }

  /** A counter for each poster at the end of the memory, and a slot for other requests. */
  private long remote(Poster poster, long number) {
    return setting.target.start()
        + (operation(number) == FETCH_ADD
            ? MEMORY - Long.BYTES * (poster.tag + 1L)
            : WRITTEN + poster.slot(number));
  }

  private static long id(Poster poster, long number) {
    return ((long) poster.tag << SHIFT) + number;
  }

  /** With and without scattering to the completion queue. */
  private long length(long number) {
    return operation(number) == FETCH_ADD ? Long.BYTES : Long.BYTES * (1 + number % 10);
  }

  private boolean isSignaled(Poster poster, long number) {
    return setting.everySignaled || number % 3 == 2 || number == poster.total - 1;
  }

  private static void write(MemorySegment memory, long offset, long length, long number) {
    for (long at = 0; at < length; at += Long.BYTES) {
      memory.set(ValueLayout.JAVA_LONG, offset + at, number + at);
    }
  }

  private static void require(
      String what, MemorySegment memory, long offset, long length, long number) {
    for (long at = 0; at < length; at += Long.BYTES) {
      long found = memory.get(ValueLayout.JAVA_LONG, offset + at);
      require(found == number + at, what + " has the data of " + (found - at));
    }
  }

  private static void require(boolean condition, String otherwise) {
    if (!condition) {
      throw new AssertionError(otherwise);
    }
  }

  // Polling

  private interface Check {
    void check(Poster poster, Seen seen, long number);
  }

  private void poll(CompletionQueue queue, List<Poster> posters, Check check) {
    Completions completions = new Completions(8);
    List<Seen> seen = new ArrayList<>();
    while (!failed) {
      boolean last = ended;
      poll(queue, completions, seen);
      for (Seen one : seen) {
        check(posters, one, check);
      }
      if (posters.stream().allMatch(p -> p.checked == p.total)
          || (last && seen.isEmpty() && areAllSeen(posters))) {
        return;
      }
      seen.clear();
    }
  }

  /** Requests that were posted vanish if their queue pair is reset or closed. */
  private boolean areAllSeen(List<Poster> posters) {
    return disturbance != Disturbance.FAIL
        || posters.stream()
            .allMatch(p -> p.checked == p.posted || (senders.contains(p) && !isOneSignaled(p)));
  }

  /**
   * Whether a completion is missing: one that is not signaled may have ended before the failure.
   */
  private boolean isOneSignaled(Poster poster) {
    return poster.failed
        || LongStream.range(poster.checked, poster.posted).anyMatch(n -> isSignaled(poster, n));
  }

  private static void poll(CompletionQueue queue, Completions completions, List<Seen> seen) {
    if (queue instanceof ExtendedCompletionQueue extended) {
      try (CompletionCursor cursor = extended.startPolling()) {
        while (cursor.next()) {
          boolean good = cursor.isSuccess();
          seen.add(
              new Seen(
                  cursor.id(),
                  cursor.status(),
                  good ? cursor.opcode() : CompletionOpcode.SEND,
                  good ? cursor.byteLength() : 0));
        }
      }
      return;
    }
    int count = queue.poll(completions);
    for (int i = 0; i < count; i++) {
      seen.add(
          new Seen(
              completions.id(i),
              completions.status(i),
              completions.opcode(i),
              completions.byteLength(i)));
    }
  }

  private void check(List<Poster> posters, Seen seen, Check check) {
    int tag = (int) (seen.id >>> SHIFT);
    require(tag < posters.size(), "nobody posted " + seen);
    Poster poster = posters.get(tag);
    long number = seen.id - id(poster, 0);
    long expected = poster.checked;
    boolean isSend = senders.contains(poster);
    while (isSend && !isSignaled(poster, expected) && !poster.failed) {
      expected++;
    }
    boolean good = seen.status == CompletionStatus.SUCCESS;
    // One that is not signaled completes nonetheless if it fails.
    require(
        (good || !ending) ? number == expected : (number >= poster.checked && number <= expected),
        (isSend ? "send request " : "receive request ") + expected + " has " + seen);
    require(good || ending, seen.toString());
    poster.failed |= !good;
    require(good || !isSend || poster.failed, seen + " succeeded after others failed");
    if (good) {
      check.check(poster, seen, number);
    }
    poster.checked = number + 1;
  }

  private void checkSent(Poster poster, Seen seen, long number) {
    Operation operation = operation(number);
    require(seen.opcode == operation.opcode, number + " is " + operation + ": " + seen);
    String what = operation + " " + number;
    switch (operation) {
      case WRITE -> {
        if (setting.from.type() != QueuePairType.UC) { // Which completes what may not have arrived.
          long offset = WRITTEN + poster.slot(number);
          require(what, setting.target.memory(), offset, length(number), number);
        }
      }
      case FETCH_ADD ->
          require(
              setting.source.memory().get(ValueLayout.JAVA_LONG, poster.slot(number))
                  == number / setting.operations.size(),
              what + " has the result of another");
      default -> {} // Seen by the other end, or without known data.
    }
  }

  private void checkReceived(Poster poster, Seen seen, long request) {
    long number = messagesSeen++;
    Operation operation = operation(number);
    boolean written = operation == Operation.WRITE_IMM;
    require(
        seen.opcode == (written ? CompletionOpcode.RECV_RDMA_WITH_IMM : CompletionOpcode.RECV),
        "message " + number + " is " + operation + ": " + seen);
    int header = setting.to.type() == QueuePairType.UD ? GRH : 0;
    require(seen.length == length(number) + header, "length of message " + number + ": " + seen);
    long offset =
        written ? WRITTEN + senders.getFirst().slot(number) : RECEIVED + poster.slot(request);
    require("message " + number, setting.target.memory(), offset + header, length(number), number);
  }
}
