package dev.verbena.messages;

import dev.verbena.cm.Endpoint;
import dev.verbena.internal.HalfOpenRequests;
import dev.verbena.internal.Inside;
import dev.verbena.internal.MessageCounter;
import dev.verbena.internal.Tally;
import dev.verbena.internal.foreign.AfterFailure;
import dev.verbena.internal.io.ServiceLoop;
import dev.verbena.internal.time.ScopedLock;
import dev.verbena.internal.time.Time;
import dev.verbena.verbs.CompletionQueue;
import dev.verbena.verbs.MemoryRegion;
import java.lang.foreign.MemorySegment;
import java.util.ArrayDeque;
import java.util.Deque;
import java.util.List;
import org.jspecify.annotations.Nullable;

/** A client of a server that is connected, or connects. */
final class ServedClient implements PostedSends.Listener {
  /** The id of a keep-alive. */
  static final long PROBE = 1L << 34;

  /** The tag of a write, which completes before its answer, and that of a read. */
  static final int NOTHING = -1;

  private static final int READ = -2;

  /** How many answers more than requests there are: those that are sent while others are begun. */
  private static final int MORE = 16;

  /** The maximum number of send requests of a ring, for any limit of requests under way. */
  private static final int RING = 1024;

  /** How long the completions of a queue pair may take that is in state ERR. */
  private static final long FLUSH_NANOS = 500_000_000;

  private final RequestServer server;
  private final ServedClients clients;
  private final int limit;
  private final HalfOpenRequests.Pending<Endpoint> pending;
  private final Endpoint endpoint;
  private final MessageQueues queues;
  private final Request[] requests;
  private final int messageSize;
  private final ScopedLock lock = new ScopedLock();

  /** Written under the lock. */
  final Tally tally = new Tally();

  // Guarded by the lock.

  /** The free places for answers, and the requests that wait for one. */
  private final int[] free;

  private int freeCount;
  private final Deque<Request> waiting = new ArrayDeque<>();

  /** The requests whose answers wait for room in the ring. */
  private final Deque<Request> unsent = new ArrayDeque<>();

  /** The large requests that were read, and what is told of answers, of one turn. */
  private final Deque<Request> read = new ArrayDeque<>();

  private final Deque<Runnable> told = new ArrayDeque<>();

  /** The memory of answers that are written to the client, by place; and who is told. */
  private final @Nullable MemoryRegion[] copies;

  private final @Nullable Runnable[] whenSent;

  /** The requests that were not answered, and those of them that the server has given up. */
  private int underWay;

  private int givenUp;

  /**
   * The requests whose RDMA reads have not completed, in the order of the reads; the number of
   * those for which there is room in the ring, which are begun or about to be; and the bytes of the
   * memory for large requests.
   */
  private final Deque<Request> reading = new ArrayDeque<>();

  private int reserved;
  private long copied;

  private boolean hasPlace;

  /** Whether something was received since the last interval, and a keep-alive is outstanding. */
  private boolean isHeard;

  private boolean isProbed;
  private long probedAt;
  private boolean isEnding;
  private long endedAt;
  private boolean isFailed;
  private boolean gone;
  private boolean destroyed;

  /** Returns the sizes of the queues of a client. */
  static MessageQueues.Sizes sizes(int limit, int messageSize) {
    int more = Math.min(limit, MORE);
    int places = limit + 2 * more;
    int ring = more + Math.min(2 * places, RING); // An answer may be a write and a send.
    return new MessageQueues.Sizes(places, ring, 0, limit, more, RequestFrame.size(messageSize));
  }

  /**
   * Creates the queue pair of a client, for a request that is not accepted yet.
   *
   * @param terms its limits
   */
  ServedClient(
      RequestServer server,
      ServedClients clients,
      HalfOpenRequests.Pending<Endpoint> pending,
      CompletionQueue queue,
      RequestFrame.Terms terms) {
    this.server = server;
    this.clients = clients;
    this.pending = pending;
    this.endpoint = pending.request();
    limit = terms.limit();
    messageSize = terms.messageSize();
    MessageQueues.Sizes sizes = sizes(limit, messageSize);
    queues = new MessageQueues(endpoint, server.domain(), queue, sizes);
    requests = new Request[sizes.receives() + sizes.spares()];
    for (int i = 0; i < requests.length; i++) {
      requests[i] = new Request(server, this, queues.incoming(), i);
    }
    free = new int[sizes.messages()];
    copies = new MemoryRegion[sizes.messages()];
    whenSent = new Runnable[sizes.messages()];
    for (int i = free.length - 1; i >= 0; i--) {
      free[freeCount++] = i;
    }
  }

  MessageQueues queues() {
    return queues;
  }

  /** Returns the maximum size of an answer that is a message. */
  int messageSize() {
    return messageSize;
  }

  /** Disconnects, so that all requests are flushed. */
  void disconnect() {
    endpoint.id().endQuietly(Inside.LIBRARY);
  }

  // The beginning of requests

  /**
   * Takes a place, unless the client has one: when the connection is established, or the first
   * message arrives before that. Returns false if there is none.
   */
  boolean takePlace() {
    try (var _ = lock.hold()) {
      if (!hasPlace && !gone && clients.tryTakePlace()) {
        hasPlace = true;
        clients.endPending(pending);
        clients.counters().opened(MessageCounter.SERVED_CLIENTS_CONNECTED, tally);
      }
      return hasPlace;
    }
  }

  /**
   * Begins a request that has arrived; returns null if the client has no place.
   *
   * @throws IllegalArgumentException if the message is no request
   */
  @Nullable Request begin(int receive, long length, long now) {
    Request request = requests[receive];
    try (var _ = lock.hold()) {
      if (!request.arrived(length, now)) {
        throw new IllegalArgumentException("a message of %d bytes is no request".formatted(length));
      }
      if (!takePlace()) {
        return null;
      }
      isHeard = true;
      underWay++;
      tally.add(MessageCounter.SERVER_REQUESTS, 1);
      return request;
    }
  }

  /** Returns whether a request, or its answer, is under way. */
  boolean isBusy() {
    try (var _ = lock.hold()) {
      return !gone && (underWay > givenUp || freeCount + givenUp < free.length);
    }
  }

  /**
   * Reserves memory and room in the ring to read a large request. Returns false if the client has
   * its share of the memory, which is one request at least, or of the ring.
   */
  boolean reserveRead(long size, long share) {
    try (var _ = lock.hold()) {
      if (reserved == Math.min(limit, MORE) || (copied > 0 && copied + size > share)) {
        return false;
      }
      reserved++;
      copied += size;
      return true;
    }
  }

  /** Nothing is read with what was reserved. */
  void cancelRead(long size) {
    try (var _ = lock.hold()) {
      reserved--;
      copied -= size;
    }
  }

  /** Memory for large requests was given back. */
  void endRead(long size) {
    try (var _ = lock.hold()) {
      copied -= size;
    }
  }

  /** Reads the bytes of a large request; returns false if the client goes. */
  boolean read(Request request, MemoryRegion target) {
    try (var _ = lock.hold()) {
      if (gone || isEnding || queues.sends().hasFailed()) { // It may have no more completions.
        return false;
      }
      queues.sends().read(READ, target, request.source());
      post();
      reading.add(request);
      return true;
    }
  }

  /** Takes a place for the answer; returns false if the request must wait for one. */
  boolean takeAnswerPlace(Request request) {
    try (var _ = lock.hold()) {
      if (freeCount == 0) {
        waiting.add(request);
        return false;
      }
      request.start(free[--freeCount]);
      return true;
    }
  }

  /** Returns the memory for the bytes of an answer. */
  MemorySegment answer(int place) {
    MessageSlots answers = queues.outgoing();
    return answers
        .region()
        .memory()
        .asSlice(answers.offset(place) + RequestFrame.HEADER, messageSize);
  }

  /** Writes the header of an answer, and the length of one that is written; -1 for none. */
  void writeHeader(int place, long id, int kind, long written) {
    MessageSlots answers = queues.outgoing();
    MemorySegment memory = answers.region().memory();
    RequestFrame.write(memory, answers.offset(place), id, kind, 0);
    if (written >= 0) {
      RequestFrame.writeLength(memory, answers.offset(place) + RequestFrame.HEADER, written);
    }
  }

  // The end of requests

  /**
   * Ends a request with its answer, or without one. {@link #flush} sends the answer.
   *
   * @param place the place for the answer; -1 if it has none
   */
  void finish(Request request, int place, boolean isAnswered) {
    try (var _ = lock.hold()) {
      request.isRunning = false;
      underWay--;
      if (isAnswered && !request.isGivenUp && request.isLate(Time.now())) {
        tally.add(MessageCounter.SERVER_EXPIRED, 1);
      }
      if (place >= 0) {
        copies[place] = request.takeCopy();
        whenSent[place] = request.whenSent();
      }
      boolean isSent = isAnswered && !gone && !request.isGivenUp && !queues.sends().hasFailed();
      if (isSent && (!unsent.isEmpty() || !hasRoom())) {
        unsent.add(request);
      } else {
        leave(request, place, isSent);
      }
    }
  }

  /** Returns whether there is room in the ring for an answer, besides that for reads. */
  private boolean hasRoom() {
    return queues.sends().room() - (Math.min(limit, MORE) - reading.size()) >= 2;
  }

  /** The receive request can be posted again, and the answer sent if there is one. */
  private void leave(Request request, int place, boolean isSent) {
    if (request.isGivenUp) {
      givenUp--;
      queues.receives().giveBack(request.receive);
    } else {
      queues.receives().add(request.receive);
    }
    if (isSent) {
      tally.add(MessageCounter.SERVER_ANSWERS, 1);
      request.send(queues.sends(), queues.outgoing().region(), queues.outgoing().offset(place));
    } else if (place >= 0) {
      sent(place);
    }
  }

  /** Posts the answers of requests that have ended; and ends what the client has if it has gone. */
  void flush() {
    lock.lock();
    try {
      post();
    } finally {
      lock.unlock();
      runSent();
      startWaiting();
      destroyIfLast();
    }
  }

  /** The client may send another request when it has an answer: there is a receive request. */
  private void post() {
    if (!gone) {
      boolean _ = queues.receives().flush();
      queues.sends().post();
    }
  }

  /** Gives up the requests whose clients have. */
  void giveUpLate(long now) {
    for (Request request : requests) {
      if (request.isRunning) {
        giveUp(request, now);
      }
    }
  }

  /**
   * Tells the client of a request whose handler still runs that nobody waits for the answer, if its
   * time is over: then it may send another one.
   */
  private void giveUp(Request request, long now) {
    try (var _ = lock.hold()) {
      if (request.isRunning
          && !request.isGivenUp
          && request.isLate(now)
          && !gone
          && freeCount > 0
          && hasRoom()
          && queues.receives().replace()) {
        request.isGivenUp = true;
        givenUp++;
        tally.add(MessageCounter.SERVER_EXPIRED, 1);
        int place = free[--freeCount];
        writeHeader(place, request.id(), RequestFrame.EXPIRY, -1);
        MessageSlots answers = queues.outgoing();
        queues.sends().send(place, answers.region(), answers.offset(place), RequestFrame.HEADER);
        post();
      }
    }
  }

  /** A receive request has completed. */
  void received() {
    try (var _ = lock.hold()) {
      queues.receives().completed();
    }
  }

  /**
   * A send has completed, and those before it.
   *
   * @param isGood whether it succeeded
   */
  void completed(long id, boolean isGood) {
    lock.lock();
    try {
      if (!gone) { // Otherwise end() has done so.
        queues.sends().completed(id, this);
        if (isGood && !unsent.isEmpty()) {
          while (!unsent.isEmpty() && hasRoom()) {
            Request next = unsent.remove();
            leave(next, next.place(), true);
          }
          post();
        }
      }
    } finally {
      lock.unlock();
    }
    runSent();
    startWaiting();
    for (Request next = nextRead(); next != null; next = nextRead()) {
      server.readMore();
      if (isGood) {
        server.dispatch(next);
      } else {
        server.end(next, -1, false);
      }
    }
  }

  @Override
  public void sent(int tag) {
    if (tag >= 0) {
      MemoryRegion copy = copies[tag];
      if (copy != null) {
        server.copies().give(copy);
        copies[tag] = null;
      }
      if (whenSent[tag] != null) {
        told.add(whenSent[tag]);
        whenSent[tag] = null;
      }
      free[freeCount++] = tag;
    } else if (tag == READ) {
      reserved--;
      read.add(reading.remove());
    }
  }

  private void startWaiting() {
    for (Request next = nextWaiting(); next != null; next = nextWaiting()) {
      server.begin(next);
    }
  }

  private void runSent() {
    for (Runnable next = nextTold(); next != null; next = nextTold()) {
      boolean _ = ServiceLoop.attempt(next);
    }
  }

  private @Nullable Runnable nextTold() {
    try (var _ = lock.hold()) {
      return told.poll();
    }
  }

  private @Nullable Request nextRead() {
    try (var _ = lock.hold()) {
      return read.poll();
    }
  }

  private @Nullable Request nextWaiting() {
    try (var _ = lock.hold()) {
      if (waiting.isEmpty() || freeCount == 0) {
        return null;
      }
      Request next = waiting.remove();
      next.start(free[--freeCount]);
      return next;
    }
  }

  // Keep-alive

  /**
   * Writes zero bytes to the memory of a silent client, which its device acknowledges; otherwise
   * the client has gone. Not behind an RDMA read, which may take long, and which the device
   * retries.
   *
   * @param answer the maximum time for the acknowledgement, in nanoseconds
   * @param drainedAt until when all completions that had come were read
   */
  void requireAnswer(long now, long answer, long drainedAt) {
    boolean isSilent = false;
    try (var _ = lock.hold()) {
      if (!hasPlace || isEnding || gone) {
        return;
      }
      if (isProbed) {
        isSilent = !isHeard && drainedAt - probedAt >= answer;
      } else if (!isHeard && reading.isEmpty()) {
        isProbed = queues.probe(PROBE);
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

  // The end

  /**
   * Disconnects; {@link RequestServer#run} ends the client when all of its completions have been
   * read.
   */
  void beginEnd() {
    disconnect();
    try (var _ = lock.hold()) {
      if (!isEnding) {
        endedAt = Time.now();
        clients.ending(this);
      }
      isEnding = true;
    }
  }

  /**
   * Ends a client that has disconnected if all of its completions have been read, or do not come;
   * returns whether it has.
   *
   * @param drainedAt until when all that had come were read, which a handler may have delayed
   */
  boolean endIfFlushed(long drainedAt) {
    boolean isFlushed;
    try (var _ = lock.hold()) {
      isFlushed = queues.receives().posted() == 0 && !queues.sends().hasOutstanding();
    }
    long waited = drainedAt - endedAt;
    if (!isFlushed && waited >= 2 * FLUSH_NANOS) {
      isFlushed = true;
    } else if (!isFlushed && waited >= FLUSH_NANOS && !isFailed) { // Not disconnected.
      isFailed = true;
      boolean _ = ServiceLoop.attempt(queues.queuePair()::fail);
    }
    if (isFlushed) {
      end();
    }
    return isFlushed;
  }

  /** Ends a client whose completions have been read, or are not going to be. */
  void end() {
    List<Request> dropped = server.removeLarge(this);
    try (var _ = lock.hold()) {
      gone = true;
      dropped.addAll(waiting);
      waiting.clear();
      underWay -= reading.size(); // They never complete; the device may still write their memory.
      for (int place = 0; place < copies.length; place++) {
        if (copies[place] != null || whenSent[place] != null) {
          sent(place);
        }
      }
    }
    for (Request request : dropped) {
      boolean _ = ServiceLoop.attempt(() -> server.end(request, -1, false));
    }
    runSent();
    destroyIfLast();
  }

  private void destroyIfLast() {
    try (var _ = lock.hold()) {
      if (!gone || underWay > 0 || destroyed) {
        return;
      }
      destroyed = true;
    }
    clients.remove(
        this, pending, hasPlace, () -> AfterFailure.closeAll(this::closeEndpoint, queues::close));
  }

  /** Destroys the queue pair; then no device writes the memory of reads any more. */
  private void closeEndpoint() {
    endpoint.close();
    for (Request each = reading.poll(); each != null; each = reading.poll()) {
      server.giveBack(this, each.takeLarge());
    }
  }

  @Override
  public String toString() {
    return endpoint.toString();
  }
}
