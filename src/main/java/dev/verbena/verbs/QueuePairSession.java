package dev.verbena.verbs;

import dev.verbena.internal.CheckReturnValue;
import dev.verbena.internal.Codes;
import dev.verbena.internal.Ranges;
import dev.verbena.internal.calls.SessionCalls;
import dev.verbena.internal.foreign.Memory;
import dev.verbena.internal.life.Core;
import dev.verbena.raw.ibv_qp;
import dev.verbena.values.CompletionOpcode;
import dev.verbena.values.CompletionStatus;
import dev.verbena.values.QueuePairState;
import dev.verbena.values.QueuePairType;
import dev.verbena.values.WorkRequestOpcode;
import java.util.Objects;

/**
 * Posts send requests to one queue pair and polls its completions, from one thread, with fewer
 * instructions than a {@link SendList} and {@link Completions} take. On a {@linkplain
 * QueuePair#isDirect direct} queue pair the requests are kept as entries of the send queue, and
 * completions are read in place; on others a session consists of a list and an array. A program is
 * the same for both.
 *
 * {@snippet :
 * QueuePairSession session = QueuePairSession.on(queuePair, completionQueue, 16);
 * session.write(0, remoteAddress, remoteKey);
 * session.signaled(0, true);
 *
 * session.local(0, 42, region, offset, length); // wr_id and SGE, for each post
 * int posted = session.post(0, 1); // 0 if the queue is full
 * while (session.next()) {
 *   if (!session.isSuccess()) {
 *     throw new IllegalStateException(session.describe());
 *   }
 *   long id = session.id();
 * }
 * }
 *
 * <p>The requests are sends, writes and reads with at most one SGE. Whatever else the queue pair
 * can do is posted by a list, before or after the requests of a session. {@link #next} returns all
 * completions of the queue: also those of other queue pairs, and of receives.
 *
 * <p>A session belongs to the thread that creates it. There is nothing to close; after the queue
 * pair is closed, the session cannot be used.
 */
public final class QueuePairSession {
  private static final long SEND_QUEUE = ibv_qp.send_cq$offset();
  private static final long LENGTH = 0xffffffffL;

  private final QueuePair queuePair;
  private final CompletionQueue queue;
  private final Thread owner = Thread.currentThread();
  private final Completions completions;
  private final SessionCalls calls;
  private final boolean isDirect;
  private final WorkRequestOpcode[] opcodes;
  private final int[] flags;
  private final MemoryRegion[] regions;

  /** The number of requests that were not formatted yet. */
  private int unformatted;

  /** The number of completions that were polled, and which of them is the current one. */
  private int polled;

  private int index;

  /** The number of closings when all objects that are used were open. */
  private int checkedAt;

  private QueuePairSession(QueuePair queuePair, CompletionQueue queue, int requests) {
    this.queuePair = queuePair;
    this.queue = queue;
    this.isDirect = queuePair.isDirect();
    this.completions = new Completions(isDirect ? SessionCalls.COMPLETIONS : requests);
    this.calls =
        isDirect
            ? queuePair.calls.session(requests, completions.address())
            : new ByLists(queuePair, queue, requests, completions);
    this.opcodes = new WorkRequestOpcode[requests];
    this.flags = new int[requests];
    this.regions = new MemoryRegion[requests];
    this.unformatted = requests;
    int _ = check();
  }

  /**
   * Creates a session of this thread on a queue pair.
   *
   * @param queuePair a queue pair of type RC or UC
   * @param queue the completion queue of its send requests
   * @param requests the number of requests that the session formats
   * @return the session
   * @throws IllegalArgumentException if the type of the queue pair is another one, or if its send
   *     requests complete on another queue
   */
  public static QueuePairSession on(QueuePair queuePair, CompletionQueue queue, int requests) {
    queuePair.core.requireOpen();
    queue.core.requireOpen();
    queuePair.requireSendQueue();
    QueuePairType type = queuePair.type();
    if (type != QueuePairType.RC && type != QueuePairType.UC) {
      throw new IllegalArgumentException(
          "a session is for RC and UC, %s is %s".formatted(queuePair, type));
    }
    long completing =
        queuePair.core.whileOpen(() -> Memory.getLong(queuePair.address() + SEND_QUEUE));
    if (completing != queue.address()) {
      throw new IllegalArgumentException(
          "%s does not belong to %s: send requests complete on another queue"
              .formatted(queue, queuePair));
    }
    return new QueuePairSession(queuePair, queue, Ranges.positive(requests, "number of requests"));
  }

  /** {@return the number of requests} */
  public int size() {
    return regions.length;
  }

  /** {@return the queue pair} */
  public QueuePair queuePair() {
    return queuePair;
  }

  @SuppressWarnings("ReferenceEquality") // A thread equals itself alone.
  private void requireOwner() {
    if (Thread.currentThread() != owner) {
      throw new IllegalStateException(
          "%s belongs to %s, and is used by %s: create one for each thread"
              .formatted(this, Core.nameOf(owner), Core.nameOf(Thread.currentThread())));
    }
  }

  // Formatting

  private void format(int request, WorkRequestOpcode opcode, int immediate) {
    requireOwner();
    if (opcodes[Objects.checkIndex(request, opcodes.length)] == null) {
      unformatted--;
    }
    opcodes[request] = opcode;
    flags[request] = 0;
    regions[request] = null;
    calls.format(request, opcode.code(), immediate);
  }

  /**
   * Formats a request as a send without data: {@code IBV_WR_SEND}.
   *
   * @param request the index of the request
   */
  public void send(int request) {
    format(request, WorkRequestOpcode.SEND, 0);
  }

  /**
   * Formats a request as a send without data, with immediate data: {@code IBV_WR_SEND_WITH_IMM}.
   *
   * @param request the index of the request
   * @param value the immediate data, in Java's byte order
   */
  public void sendWithImmediate(int request, int value) {
    format(request, WorkRequestOpcode.SEND_WITH_IMM, value);
  }

  /**
   * Formats a request as an RDMA write without data: {@code IBV_WR_RDMA_WRITE}.
   *
   * @param request the index of the request
   * @param address the remote address
   * @param rkey the remote key
   */
  public void write(int request, long address, int rkey) {
    format(request, WorkRequestOpcode.RDMA_WRITE, 0);
    calls.remote(request, address, rkey);
  }

  /**
   * Formats a request as an RDMA write without data, with immediate data, which consumes a remote
   * receive request: {@code IBV_WR_RDMA_WRITE_WITH_IMM}.
   *
   * @param request the index of the request
   * @param value the immediate data, in Java's byte order
   * @param address the remote address
   * @param rkey the remote key
   */
  public void writeWithImmediate(int request, int value, long address, int rkey) {
    format(request, WorkRequestOpcode.RDMA_WRITE_WITH_IMM, value);
    calls.remote(request, address, rkey);
  }

  /**
   * Formats a request as an RDMA read without data: {@code IBV_WR_RDMA_READ}.
   *
   * @param request the index of the request
   * @param address the remote address
   * @param rkey the remote key
   * @throws IllegalArgumentException if the queue pair is not of type RC
   */
  public void read(int request, long address, int rkey) {
    if (!WorkRequestOpcode.RDMA_READ.isFor(queuePair.type())) {
      throw new IllegalArgumentException(
          describe(request, "RDMA_READ")
              + " cannot be posted to a queue pair of type "
              + queuePair.type());
    }
    format(request, WorkRequestOpcode.RDMA_READ, 0);
    calls.remote(request, address, rkey);
  }

  // Patching

  private WorkRequestOpcode formatted(int request) {
    WorkRequestOpcode opcode = opcodes[Objects.checkIndex(request, opcodes.length)];
    if (opcode == null) {
      throw new IllegalStateException(describe(request, "unformatted") + " is not formatted");
    }
    return opcode;
  }

  private static String describe(int request, Object opcode) {
    return "send request " + request + " of a session (" + opcode + ")";
  }

  private RuntimeException unfit(int request, String what) {
    return new IllegalArgumentException(
        describe(request, opcodes[request]) + " does not use " + what);
  }

  /**
   * Sets the {@code wr_id} and the SGE of a request.
   *
   * @param request the index of a formatted request
   * @param id any value, which the completion returns
   * @param region a registered memory region
   * @param offset the offset of the data in the region, in bytes
   * @param length the length in bytes
   * @throws IllegalArgumentException if the region is of another protection domain than the queue
   *     pair, or was registered without LOCAL_WRITE and the request is a read, or if the queue pair
   *     allows no SGEs
   * @throws IndexOutOfBoundsException if the data is not inside the region
   */
  public void local(int request, long id, MemoryRegion region, long offset, long length) {
    requireOwner();
    if (regions[Objects.checkIndex(request, regions.length)] != region) {
      name(request, region);
    }
    if (!region.holds(offset, length)) {
      throw RequestList.outside(region, offset, length);
    }
    calls.local(request, id, region.start() + offset, (int) length, region.lkey());
  }

  /** Checks that a request may name a region; a post checks that it is open. */
  private void name(int request, MemoryRegion region) {
    WorkRequestOpcode opcode = formatted(request);
    if (queuePair.capacity().sendSges() == 0) {
      throw new IllegalArgumentException(
          "%s has an SGE; %s allows 0".formatted(describe(request, opcode), queuePair));
    }
    require(request, opcode, region);
    regions[request] = region;
  }

  private void require(int request, WorkRequestOpcode opcode, MemoryRegion region) {
    if (!region.isOpen()) {
      throw new IllegalStateException(
          "%s names %s, which is closed".formatted(describe(request, opcode), region.core));
    }
    region.requireMemory();
    if (region.domain().root() != queuePair.domain().root()) {
      throw new IllegalArgumentException(
          "%s names %s, which is of another protection domain than %s"
              .formatted(describe(request, opcode), region, queuePair));
    }
    if (opcode.writesLocally()) {
      region.requireLocallyWritable(describe(request, opcode));
    }
  }

  /** Returns whether {@link #require} throws no exception. */
  private boolean isValid(int request, MemoryRegion region) {
    return region.isUsable()
        && region.domain().root() == queuePair.domain().root()
        && (region.isLocallyWritable() || !opcodes[request].writesLocally());
  }

  /**
   * Sets the remote memory of a write or read.
   *
   * @param request the index of the request
   * @param address the remote address
   * @param rkey the remote key
   */
  public void remote(int request, long address, int rkey) {
    requireOwner();
    if (!formatted(request).isRdma()) {
      throw unfit(request, "a remote address");
    }
    calls.remote(request, address, rkey);
  }

  /**
   * Sets the immediate data.
   *
   * @param request the index of a send or write with immediate data
   * @param value the immediate data, in Java's byte order
   */
  public void immediate(int request, int value) {
    requireOwner();
    switch (formatted(request)) {
      case SEND_WITH_IMM, RDMA_WRITE_WITH_IMM -> calls.immediate(request, value);
      default -> throw unfit(request, "immediate data");
    }
  }

  /**
   * Sets whether a request is signaled ({@code IBV_SEND_SIGNALED}): whether it generates a work
   * completion also if it succeeds. The default is that it does not.
   *
   * @param request the index of the request
   * @param set true if it is signaled
   */
  public void signaled(int request, boolean set) {
    flag(request, SendList.SIGNALED, set);
  }

  /**
   * Sets whether a request is fenced ({@code IBV_SEND_FENCE}): whether it begins after all earlier
   * reads and atomic operations have ended.
   *
   * @param request the index of the request
   * @param set true if it is fenced
   */
  public void fenced(int request, boolean set) {
    flag(request, SendList.FENCED, set);
  }

  /**
   * Sets whether a request is solicited ({@code IBV_SEND_SOLICITED}): whether its receive generates
   * a completion event also if only those of solicited messages were requested.
   *
   * @param request the index of the request
   * @param set true if it is solicited
   */
  public void solicited(int request, boolean set) {
    flag(request, SendList.SOLICITED, set);
  }

  private void flag(int request, int flag, boolean set) {
    requireOwner();
    WorkRequestOpcode _ = formatted(request);
    flags[request] = set ? flags[request] | flag : flags[request] & ~flag;
    calls.flags(request, flags[request]);
  }

  // Posting

  /**
   * Posts a range of requests: {@code ibv_post_send}.
   *
   * @param from the index of the first request
   * @param count the number of requests
   * @return the number of requests that were posted, from the first one on; less than {@code count}
   *     if the queue is full
   * @throws IllegalArgumentException if a region that a request names was changed, so that the
   *     request cannot name it any more; nothing is posted
   * @throws IllegalStateException if a request is not formatted, if the queue pair or a region that
   *     a request names is closed, or if the state of the queue pair does not allow sends; nothing
   *     is posted
   */
  @CheckReturnValue
  public int post(int from, int count) {
    requireOwner();
    Objects.checkFromIndexSize(from, count, regions.length);
    if (unformatted > 0) {
      requireFormatted(from, count);
    }
    int posted = calls.post(from, count, checkedAt);
    return posted >= 0 ? posted : postChecked(posted, from, count);
  }

  private void requireFormatted(int from, int count) {
    for (int i = from; i < from + count; i++) {
      WorkRequestOpcode _ = formatted(i);
    }
  }

  private int postChecked(int result, int from, int count) {
    int posted = result;
    while (posted == SessionCalls.UNCHECKED) {
      int closings = check();
      for (int i = from; i < from + count; i++) {
        if (regions[i] != null) {
          require(i, opcodes[i], regions[i]);
        }
      }
      posted = calls.post(from, count, closings);
    }
    if (posted < 0) {
      queuePair.transitions.requireReached(QueuePairState.RTS, "ibv_post_send", -posted);
      return 0; // Another thread has reached it since; a post of a list returns the same.
    }
    return posted;
  }

  /** Returns the number of closings when the queues were open, and perhaps all regions valid. */
  private int check() {
    int closings = Core.closingsBefore();
    queuePair.core.requireNotClosing();
    queue.core.requireNotClosing();
    for (int i = 0; i < regions.length; i++) {
      if (regions[i] != null && !isValid(i, regions[i])) {
        return closings;
      }
    }
    checkedAt = closings;
    return closings;
  }

  // Completions

  /**
   * Goes to the next work completion; polls the queue if none is left of those that were polled
   * before: {@code ibv_poll_cq}. The methods below return what the completion contains, until the
   * next call.
   *
   * <p>Several completions are polled at once. Other pollers of the queue do not see them, and a
   * reset of the queue pair does not remove them: call this method until it returns false.
   *
   * @return whether there is one
   * @throws IllegalStateException if the queue pair or the completion queue is closed
   */
  @CheckReturnValue
  public boolean next() {
    requireOwner();
    int next = index + 1;
    if (next < polled) {
      index = next;
      return true;
    }
    return poll();
  }

  private boolean poll() {
    polled = 0; // Also if this throws an exception.
    int result = calls.poll(checkedAt);
    if (result < 0 || (isDirect && !calls.isPlain && result > 0)) {
      result = pollOther(result);
    }
    polled = result;
    index = 0;
    return result != 0;
  }

  private int pollOther(int result) {
    int count = result;
    while (count == SessionCalls.UNCHECKED) {
      count = calls.poll(check());
    }
    return isDirect && !calls.isPlain ? completions.polled(count, queue) : count;
  }

  private int current() {
    if (index >= polled) {
      throw new IllegalStateException("there is no completion: next() has not returned true");
    }
    return index;
  }

  /** {@return the {@code wr_id} of the completion} */
  public long id() {
    int i = current();
    return calls.isPlain ? calls.ids[i] : completions.id(i);
  }

  /** {@return whether the completion is successful} */
  public boolean isSuccess() {
    int i = current();
    return calls.isPlain || completions.isSuccess(i);
  }

  /** {@return the length of the data in bytes, of a read or a receive that is successful} */
  public long byteLength() {
    int i = current();
    return calls.isPlain ? calls.opcodesAndLengths[i] & LENGTH : completions.byteLength(i);
  }

  /** Returns the array that contains the completion with all of its fields. */
  private Completions all() {
    if (calls.isPlain) {
      int i = current();
      completions.plain(i, calls.ids[i], calls.opcode(i), (int) byteLength(), queuePair.number());
    }
    return completions;
  }

  /** {@return the status of the completion} */
  public CompletionStatus status() {
    return all().status(current());
  }

  /** {@return the operation that was completed; undefined if it failed} */
  public CompletionOpcode opcode() {
    return all().opcode(current());
  }

  /** {@return whether a receive was completed} */
  public boolean isReceive() {
    return all().isReceive(current());
  }

  /** {@return the immediate data of a receive, in Java's byte order} */
  public int immediate() {
    return all().immediate(current());
  }

  /** {@return the number of the queue pair (QPN)} */
  public int queuePairNumber() {
    return all().queuePairNumber(current());
  }

  /** {@return the vendor-specific error of a failed completion} */
  public int vendorError() {
    return all().vendorError(current());
  }

  /** {@return a description of the completion: {@link Completions#describe}} */
  public String describe() {
    return all().describe(current());
  }

  @Override
  public String toString() {
    return "session of " + size() + " requests on " + queuePair;
  }

  /** A session by a list of requests and an array of completions, for every device. */
  private static final class ByLists extends SessionCalls {
    private final QueuePair queuePair;
    private final CompletionQueue queue;
    private final SendList sends;
    private final Completions polled;

    ByLists(QueuePair queuePair, CompletionQueue queue, int requests, Completions polled) {
      this.queuePair = queuePair;
      this.queue = queue;
      this.sends = new SendList(requests, 1);
      this.polled = polled;
    }

    @Override
    public void format(int request, int opcode, int immediate) {
      WorkRequestOpcode operation =
          Codes.of(WorkRequestOpcode.class, opcode, WorkRequestOpcode.DRIVER1);
      var _ = sends.format(request, operation);
      if (operation.name().endsWith("WITH_IMM")) {
        sends.immediate(request, immediate);
      }
    }

    @Override
    public void remote(int request, long address, int key) {
      sends.remote(request, address, key);
    }

    @Override
    public void immediate(int request, int value) {
      sends.immediate(request, value);
    }

    @Override
    public void flags(int request, int flags) {
      sends.flag(request, -1, false);
      sends.flag(request, flags, true);
    }

    @Override
    public void local(int request, long id, long address, int length, int key) {
      sends.id(request, id);
      sends.localUnchecked(request, 0, address, length, key);
    }

    @Override
    public int post(int from, int count, int checkedAt) {
      return Core.closings() == checkedAt ? queuePair.post(sends, from, count) : UNCHECKED;
    }

    @Override
    public int poll(int checkedAt) {
      return Core.closings() == checkedAt ? queue.poll(polled) : UNCHECKED;
    }

    @Override
    public int opcode(int index) {
      throw new AssertionError("no completion is plain");
    }
  }
}
