package dev.verbena.messages;

import dev.verbena.cm.Endpoint;
import dev.verbena.internal.HalfOpenRequests;
import dev.verbena.internal.Inside;
import dev.verbena.internal.foreign.AfterFailure;
import dev.verbena.internal.io.ServiceLoop;
import dev.verbena.internal.time.ScopedLock;
import dev.verbena.internal.time.Time;
import dev.verbena.values.AccessFlag;
import dev.verbena.values.QueuePairCapacity;
import dev.verbena.values.QueuePairType;
import dev.verbena.verbs.CompletionQueue;
import dev.verbena.verbs.MemoryRegion;
import dev.verbena.verbs.ProtectionDomain;
import dev.verbena.verbs.QueuePair;
import dev.verbena.verbs.RemoteMemory;
import dev.verbena.verbs.SendList;
import java.lang.foreign.MemorySegment;
import java.util.Arrays;

/** A client of a server that is connected, or connects. */
final class ServedClient {
  /** The ids of sends and reads are at least these; those of receives are smaller. */
  static final long SEND = 1L << 32;

  static final long READ = 1L << 33;

  /** The id of the last request of a queue pair: all of its completions have been read. */
  static final long LAST = 1L << 34;

  /** The id of a keep-alive. */
  static final long PROBE = 1L << 35;

  /**
   * How long to wait for {@link dev.verbena.values.AsyncEventType#QP_LAST_WQE_REACHED}, which old
   * drivers do not raise, and nobody reads if the program reads no more events of the device. No
   * completion is that late.
   */
  private static final long LAST_WQE_NANOS = 500_000_000;

  private final RequestServer server;
  private final ServedRequests requests;
  private final int limit;
  private final HalfOpenRequests.Pending<Endpoint> pending;
  private final Endpoint endpoint;
  private final QueuePair queuePair;
  private final MemoryRegion answers;
  private final SendList sends;
  private final SendList reads;

  /** The free places for answers, and requests that wait for one; guarded by the lock. */
  private final int[] free;

  private int freeCount;
  private final int[] waiting;
  private int waitingCount;
  private final ScopedLock lock = new ScopedLock();

  private final int messageSize;

  /** The requests that were not answered; guarded by the lock. */
  private int underWay;

  /** The RDMA reads that have not completed; guarded by the lock. */
  private int reading;

  private boolean hasPlace;

  /** Whether something was received since the last interval, and a keep-alive is outstanding. */
  private boolean isHeard;

  private boolean isProbed;
  private long probedAt;
  private boolean isEnding;
  private long endedAt;
  private boolean gone;
  private boolean destroyed;

  /**
   * Creates the queue pair of a client, for a request that is not accepted yet.
   *
   * @param limit the maximum number of requests under way
   * @param messageSize the maximum size of a message of the client
   */
  ServedClient(
      RequestServer server,
      HalfOpenRequests.Pending<Endpoint> pending,
      CompletionQueue queue,
      ServedRequests requests,
      int limit,
      int messageSize) {
    this.server = server;
    this.pending = pending;
    this.endpoint = pending.request();
    this.requests = requests;
    this.limit = limit;
    this.messageSize = messageSize;
    sends = new SendList(2 * limit, 1);
    reads = new SendList(limit, 1);
    free = new int[2 * limit];
    waiting = new int[limit];
    ProtectionDomain domain = server.domain();
    queuePair =
        endpoint
            .id()
            .queues()
            .createQueuePair(
                QueuePair.builder(domain, QueuePairType.RC)
                    .completions(queue)
                    .sharedReceiveQueue(requests.queue())
                    .capacity(QueuePairCapacity.of(3 * limit + 2)));
    answers = domain.allocateMemory(2L * limit * requests.stride(), AccessFlag.LOCAL_WRITE);
    for (int i = 0; i < 2 * limit; i++) {
      free[freeCount++] = i;
    }
  }

  QueuePair queuePair() {
    return queuePair;
  }

  /** Disconnects, so that all requests are flushed. */
  void disconnect() {
    endpoint.id().endQuietly(Inside.LIBRARY);
  }

  /** Takes a place for an answer; -1 if the request must wait for one. */
  int takeAnswerPlace(int receive) {
    try (var _ = lock.hold()) {
      if (freeCount == 0) {
        waiting[waitingCount++] = receive;
        return -1;
      }
      return free[--freeCount];
    }
  }

  /** Frees a place; returns a request that waited for it, or -1. */
  int freeAnswerPlace(int place) {
    try (var _ = lock.hold()) {
      free[freeCount++] = place;
      if (waitingCount == 0) {
        return -1;
      }
      int first = waiting[0];
      waitingCount--;
      System.arraycopy(waiting, 1, waiting, 0, waitingCount);
      return first;
    }
  }

  /**
   * Takes a place, unless the client has one: when the connection is established, or the first
   * message arrives before that. Returns false if there is none.
   */
  boolean takePlace() {
    try (var _ = lock.hold()) {
      if (!hasPlace && !gone && server.tryTakePlace()) {
        hasPlace = true;
        server.endPending(pending);
      }
      return hasPlace;
    }
  }

  /** Begins a request; returns false if the client has too many, or no place. */
  boolean begin() {
    try (var _ = lock.hold()) {
      if (underWay == limit || !takePlace()) {
        return false;
      }
      isHeard = true;
      underWay++;
      return true;
    }
  }

  /**
   * Ends a request with its answer, or without one if the length is 0; and what the client has if
   * it was the last one of a client that has gone.
   */
  void finish(int place, long length) {
    lock.lock();
    try {
      underWay--; // Before the client may send the next request.
      if (!gone && length > 0) {
        sends.send(place).id(SEND + place).local(answers, offset(place), length).signaled();
        if (queuePair.post(sends, place, 1) == 0) {
          throw new IllegalStateException(queuePair + " is full of answers");
        }
      }
    } finally {
      lock.unlock();
      destroyIfLast();
    }
  }

  void read(int receive, RemoteMemory remote, MemoryRegion target) {
    try (var _ = lock.hold()) {
      if (gone) {
        throw new IllegalStateException(this + " has ended"); // Nobody would count its end.
      }
      int index = Math.floorMod(requests.slot(receive), limit);
      reads
          .read(index)
          .id(READ + receive)
          .local(target, 0, remote.length())
          .remote(remote.address(), remote.rkey())
          .signaled();
      if (queuePair.post(reads, index, 1) == 0) {
        throw new IllegalStateException(queuePair + " is full of reads");
      }
      reading++;
    }
  }

  /** Ends an RDMA read; returns false if the client has gone, and its requests with it. */
  boolean endRead() {
    try (var _ = lock.hold()) {
      if (!gone) {
        reading--;
      }
      return !gone;
    }
  }

  /**
   * Writes zero bytes to the memory of a silent client, which its device acknowledges; otherwise
   * the client has gone. Not behind an RDMA read, which may take long, and which the device
   * retries.
   *
   * @param answer the maximum time for the acknowledgement, in nanoseconds
   * @param isDrained whether all completions were read: none is an acknowledgement
   */
  void requireAnswer(long now, long answer, boolean isDrained) {
    boolean isSilent = false;
    try (var _ = lock.hold()) {
      if (!hasPlace || isEnding || gone) {
        return;
      }
      if (isProbed) {
        isSilent = !isHeard && isDrained && now - probedAt >= answer;
      } else if (!isHeard && reading == 0) {
        isProbed = queuePair.post(RequestFrame.emptyWrite(PROBE)) == 1;
        probedAt = now;
      }
      isHeard = false;
    }
    if (isSilent) {
      beginEnd();
    }
  }

  void answered() {
    try (var _ = lock.hold()) {
      isProbed = false;
    }
  }

  /**
   * Disconnects; {@link RequestServer#run} ends the client when all of its completions have been
   * read.
   */
  void beginEnd() {
    disconnect();
    try (var _ = lock.hold()) {
      if (!isEnding) {
        endedAt = Time.now();
        server.ending(this);
      }
      isEnding = true;
    }
  }

  /**
   * Posts the last request of a queue pair in state ERR, whose completion follows all others: those
   * of receive requests, too, when the last of them has completed. Returns false if it is to be
   * tried again; the queue may be full of flushed requests.
   */
  boolean postLast() {
    boolean isLate = Time.now() - endedAt >= LAST_WQE_NANOS;
    if (!isLate && !queuePair.isLastWqeReached() && queuePair.isOpen()) {
      return false;
    }
    try {
      return queuePair.post(RequestFrame.emptyWrite(LAST)) == 1;
    } catch (RuntimeException e) { // Nothing completes any more, or close() has ended it.
      if (isLate || !queuePair.isOpen()) {
        end();
        return true;
      }
      return false;
    }
  }

  /** Ends a client whose completions have been read, or are not going to be. */
  void end() {
    int[] dropped;
    try (var _ = lock.hold()) {
      gone = true;
      dropped = Arrays.copyOf(waiting, waitingCount);
      underWay -= waitingCount + reading;
      waitingCount = 0;
      reading = 0;
    }
    for (int receive : dropped) {
      boolean _ = ServiceLoop.attempt(() -> requests.drop(receive));
    }
    destroyIfLast();
  }

  private void destroyIfLast() {
    try (var _ = lock.hold()) {
      if (!gone || underWay > 0 || destroyed) {
        return;
      }
      destroyed = true;
    }
    server.forget(this);
    if (hasPlace) { // Before the endpoint, for which the close of the server waits.
      server.freePlace();
    }
    server.release(endpoint, () -> AfterFailure.closeAll(endpoint::close, answers::close));
    server.closed(this);
    if (!hasPlace) {
      server.endPending(pending);
    }
  }

  /** Returns the memory for the bytes of an answer. */
  MemorySegment answer(int place) {
    return answers.memory().asSlice(offset(place) + RequestFrame.HEADER, messageSize);
  }

  /** Writes the header of an answer to a request. */
  void writeHeader(int place, int receive, int kind) {
    RequestFrame.write(
        answers.memory(), offset(place), requests.slot(receive), requests.sequence(receive), kind);
  }

  private long offset(int place) {
    return place * requests.stride();
  }

  @Override
  public String toString() {
    return endpoint.toString();
  }
}
