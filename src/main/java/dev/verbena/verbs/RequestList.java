package dev.verbena.verbs;

import dev.verbena.Errno;
import dev.verbena.VerbsException;
import dev.verbena.internal.Block;
import dev.verbena.internal.Memory;
import dev.verbena.raw.ibv_recv_wr;
import dev.verbena.raw.ibv_sge;
import java.lang.foreign.MemorySegment;
import java.nio.ByteOrder;
import java.util.Arrays;
import java.util.Objects;

/**
 * Work requests in native memory, with their scatter/gather entries: formatted once, patched and
 * posted again and again, without allocating anything.
 *
 * <p>A list is used by one thread at a time. It may be posted to any queue that takes its requests.
 * Its memory is freed by the garbage collector; once posted, a request is in the queue and the list
 * is free for others.
 */
public abstract sealed class RequestList extends DataPathUser permits SendList, ReceiveList {
  // Requests of both kinds begin with the same fields.
  static final long ID = ibv_recv_wr.wr_id$offset();
  static final long NEXT = ibv_recv_wr.next$offset();
  static final long ENTRIES = ibv_recv_wr.sg_list$offset();
  static final long ENTRY_COUNT = ibv_recv_wr.num_sge$offset();

  private static final long ENTRY_ADDRESS = ibv_sge.addr$offset();
  private static final long ENTRY_LENGTH = ibv_sge.length$offset();

  /** Length and key are stored at once: which of them are the lower bits. */
  private static final boolean LENGTH_THEN_KEY = ByteOrder.nativeOrder() == ByteOrder.LITTLE_ENDIAN;

  private static final int ENTRY_SHIFT = Long.numberOfTrailingZeros(ibv_sge.sizeof());
  private static final long ENTRY_LIMIT = 1L << Integer.SIZE;

  /** Where C leaves the address of the request that it refused. */
  private static final long REFUSED = 0;

  private static final long REQUESTS = 64;

  /** A list that is patched to name memory of more scopes than these is validated again. */
  private static final int MOST_SCOPES = 4;

  final Block memory;
  private final int entriesEach;
  private final int requestShift;
  private final long requests;
  private final long entries;

  /** How many entries each request uses. */
  private final int[] used;

  /** The region of each entry, and further objects that requests name. */
  private final Resource[] named;

  /** The request that C takes for the last one: its link is cut. */
  private int end;

  /** Which requests were found good for the queue that the list was checked for. */
  private int validatedFrom;

  private int validatedTo;
  private ProtectionDomain validatedDomain;
  private int validatedInlineData;

  /** As long as these are alive, so is the memory that the validated requests name. */
  private MemorySegment.Scope[] scopes = new MemorySegment.Scope[MOST_SCOPES];

  private int scopeCount;

  private int refused = -1;

  RequestList(int requests, int entriesEach, long requestSize, long extra, int others) {
    if (requests < 1) {
      throw new IllegalArgumentException("a list of " + requests + " requests");
    }
    if (entriesEach < 0) {
      throw new IllegalArgumentException(entriesEach + " entries for each request");
    }
    this.entriesEach = entriesEach;
    this.requestShift = Long.numberOfTrailingZeros(requestSize);
    requireArray(requests, (long) entriesEach + others);
    int allEntries = requests * entriesEach;
    this.memory = new Block(endOfEntries(requests, entriesEach, requestSize) + extra);
    this.requests = memory.address(REQUESTS);
    this.entries = memory.address(REQUESTS + requests * requestSize);
    this.used = new int[requests];
    this.named = new Resource[allEntries + requests * others];
    this.end = requests - 1;
    for (int i = 0; i < requests; i++) {
      putLong(at(i) + ENTRIES, entryAt(i * entriesEach));
      link(i);
    }
  }

  static long endOfEntries(int requests, int entriesEach, long requestSize) {
    return REQUESTS + requests * (requestSize + entriesEach * ibv_sge.sizeof());
  }

  /**
   * How many requests the list has.
   *
   * @return the number given at creation
   */
  public final int size() {
    return used.length;
  }

  /**
   * How many scatter/gather entries each request may have.
   *
   * @return the number given at creation
   */
  public final int entriesEach() {
    return entriesEach;
  }

  /**
   * The request that C refused when a post last threw an exception; those before it were taken.
   *
   * @return its index; -1 if no post failed, or if C did not say which one it was
   */
  public final int refused() {
    return refused;
  }

  /**
   * Sets the number that comes back in the completion.
   *
   * @param request the index of a request
   * @param id any number
   */
  public final void id(int request, long id) {
    putLong(at(checked(request)) + ID, id);
  }

  /**
   * The number that comes back in the completion.
   *
   * @param request the index of a request
   * @return the number last set
   */
  public final long id(int request) {
    return getLong(at(checked(request)) + ID);
  }

  /**
   * Sets the first entry of a request, which it need not have had before.
   *
   * @param request the index of a request
   * @param region registered memory
   * @param offset where in the region the data begins
   * @param length its length
   * @throws IndexOutOfBoundsException if the data leaves the region
   */
  public final void local(int request, MemoryRegion region, long offset, long length) {
    local(request, 0, region, offset, length);
  }

  /**
   * Sets one entry of a request: one that it has, or the next one.
   *
   * @param request the index of a request
   * @param entry which entry
   * @param region registered memory
   * @param offset where in the region the data begins
   * @param length its length
   * @throws IndexOutOfBoundsException if the data leaves the region
   */
  public final void local(int request, int entry, MemoryRegion region, long offset, long length) {
    int index = entry(request, entry);
    region.requireOpen();
    // Whether the memory of a region that is named already was freed is seen when it is posted.
    if (named[index] != region) {
      region.requireMemory();
      rename(request, index, region);
    }
    long address = region.start() + offset;
    if (BoundsChecks.ON && !region.holds(offset, length)) {
      throw outside(region, offset, length);
    }
    put(index, address, (int) length, region.lkey());
  }

  /**
   * Sets one entry of a request without knowing whether the memory is there: for memory that no
   * {@link MemoryRegion} of this library stands for. A wrong address ends in a failed completion,
   * or in data of another owner being sent or overwritten.
   *
   * @param request the index of a request
   * @param entry which entry: one that the request has, or the next one
   * @param address the address of the data, as the key's registration counts
   * @param length its length
   * @param lkey the key of a registration
   */
  public final void localUnchecked(int request, int entry, long address, int length, int lkey) {
    int index = entry(request, entry);
    if (named[index] != null) {
      rename(request, index, null);
    }
    put(index, address, length, lkey);
  }

  /**
   * How many entries a request uses.
   *
   * @param request the index of a request
   * @return 0 to {@link #entriesEach}
   */
  public final int entries(int request) {
    return used[checked(request)];
  }

  final int checked(int request) {
    return BoundsChecks.ON ? Objects.checkIndex(request, used.length) : request;
  }

  private static RuntimeException outside(MemoryRegion region, long offset, long length) {
    if (length >= ENTRY_LIMIT) {
      return new IllegalArgumentException(
          "an entry of " + length + " bytes: the limit is 2^32 - 1");
    }
    try {
      region.addressOf(offset, length);
    } catch (RuntimeException e) {
      return e;
    }
    throw new AssertionError("%d bytes at %d of %s".formatted(length, offset, region));
  }

  /** The index of an entry among those of all requests. */
  private int entry(int request, int entry) {
    int has = used[checked(request)];
    if (entry < 0 || entry >= has) {
      addEntry(request, entry);
    }
    return request * entriesEach + entry;
  }

  private void addEntry(int request, int entry) {
    if (entry != used[request] || entry >= entriesEach) {
      throw new IndexOutOfBoundsException(
          "entry "
              + entry
              + " of "
              + describe(request)
              + ", which has "
              + used[request]
              + " and room for "
              + entriesEach);
    }
    requireEntries(request);
    setEntries(request, entry + 1);
  }

  /** Refuses numbers whose product no array of Java holds. */
  static void requireArray(int requests, long entriesEach) {
    if (requests * entriesEach > Integer.MAX_VALUE) {
      throw new IllegalArgumentException(
          "%d requests with %d entries each: a list has at most 2^31 - 1 entries"
              .formatted(requests, entriesEach));
    }
  }

  /** Refuses to give an entry to a request that has no use for it. */
  abstract void requireEntries(int request);

  /** Whether the device writes to the entries of a request. */
  abstract boolean isWritten(int request);

  /** What kind of request it is, for messages. */
  abstract String describe(int request);

  final void setEntries(int request, int count) {
    used[request] = count;
    setEntryCount(request, count);
  }

  final void setEntryCount(int request, int count) {
    putInt(at(request) + ENTRY_COUNT, count);
    forgetCheck();
  }

  final void put(int entry, long address, int length, int lkey) {
    long at = entryAt(entry);
    putLong(at + ENTRY_ADDRESS, address);
    putLong(at + ENTRY_LENGTH, LENGTH_THEN_KEY ? pair(length, lkey) : pair(lkey, length));
  }

  /** Two fields of four bytes as one value. */
  private static long pair(int low, int high) {
    return Integer.toUnsignedLong(low) | (long) high << Integer.SIZE;
  }

  /**
   * Makes the first entry of a request one that C only sees, of data that the list itself holds.
   */
  final void putInline(int request, long offset, int length) {
    put(request * entriesEach, memory.address(offset), length, 0);
  }

  final int inlineLength(int request) {
    return getInt(entryAt(request * entriesEach) + ENTRY_LENGTH);
  }

  final void putInlineLength(int request, int length) {
    putInt(entryAt(request * entriesEach) + ENTRY_LENGTH, length);
    if (length > validatedInlineData) {
      forgetCheck();
    }
  }

  /** Remembers an object that a request names, so that a post can see whether it is closed. */
  private void rename(int request, int index, MemoryRegion region) {
    named[index] = region;
    if (region != null && !isValidFor(request, region)) {
      forgetCheck();
    }
  }

  /** Whether a request that was validated remains valid with another region. */
  private boolean isValidFor(int request, MemoryRegion region) {
    return region.domain() == validatedDomain
        && (region.isLocallyWritable() || !isWritten(request))
        && (isWatched(region.scope()) || watchOneMore(region.scope()));
  }

  @SuppressWarnings("ReferenceEquality") // The JDK has one object for each scope.
  private boolean isWatched(MemorySegment.Scope scope) {
    for (int i = 0; i < scopeCount; i++) {
      if (scopes[i] == scope) {
        return true;
      }
    }
    return false;
  }

  private boolean watchOneMore(MemorySegment.Scope scope) {
    if (scopeCount >= MOST_SCOPES) {
      return false;
    }
    scopes[scopeCount++] = scope;
    return true;
  }

  private void watch(MemorySegment.Scope scope) {
    if (!isWatched(scope)) {
      if (scopeCount == scopes.length) {
        scopes = Arrays.copyOf(scopes, 2 * scopeCount);
      }
      scopes[scopeCount++] = scope;
    }
  }

  /** Whether no memory was freed that validated requests name. */
  private boolean isMemoryAlive() {
    for (int i = 0; i < scopeCount; i++) {
      if (!scopes[i].isAlive()) {
        return false;
      }
    }
    return true;
  }

  /** Remembers an object that a request names besides the regions of its entries. */
  @SuppressWarnings("ReferenceEquality") // A resource equals itself alone.
  final void name(int request, int other, int others, Resource resource) {
    int index = used.length * entriesEach + request * others + other;
    if (named[index] != resource) {
      named[index] = resource;
      forgetCheck();
    }
  }

  final Resource named(int request, int other, int others) {
    return named[used.length * entriesEach + request * others + other];
  }

  final long at(int request) {
    return Block.known(requests + ((long) request << requestShift));
  }

  private long entryAt(int entry) {
    return Block.known(entries + ((long) entry << ENTRY_SHIFT));
  }

  // Every access keeps the list, and so its memory, reachable until it is done.

  final void putLong(long address, long value) {
    Memory.putLong(address, value);
    memory.keep();
  }

  final void putInt(long address, int value) {
    Memory.putInt(address, value);
    memory.keep();
  }

  final long getLong(long address) {
    long value = Memory.getLong(address);
    memory.keep();
    return value;
  }

  final int getInt(long address) {
    int value = Memory.getInt(address);
    memory.keep();
    return value;
  }

  private void link(int request) {
    long next = request + 1 < used.length ? at(request + 1) : 0;
    putLong(at(request) + NEXT, next);
  }

  /**
   * Makes a range of requests the list that C sees. As long as ranges end at the same request there
   * is nothing to do.
   *
   * @return the address of its first request
   */
  final long chain(int from, int count) {
    int last = from + count - 1;
    if (last != end) {
      link(end);
      putLong(at(last) + NEXT, 0);
      end = last;
    }
    return at(from);
  }

  /** The address of the word in which C names the request that it refuses. */
  final long refusedWord() {
    return memory.address(REFUSED);
  }

  /** Whether a range was found good for a queue, and nothing happened since that could matter. */
  final boolean isValidated(Resource queue, int from, int count) {
    return isCheckedFor(queue)
        && from >= validatedFrom
        && count >= 0
        && count <= validatedTo - from
        && isMemoryAlive();
  }

  /** Looks at every request of a range, and remembers that all were good. */
  final void validate(QueueLimits limits, int from, int count) {
    Objects.checkFromIndexSize(from, count, used.length);
    final int closings = Resource.closingsBefore();
    use(limits.queue());
    boolean adjoins =
        isValidated(limits.queue(), validatedFrom, 0)
            && from <= validatedTo
            && from + count >= validatedFrom;
    if (!adjoins) {
      forgetCheck();
      scopeCount = 0;
    }
    for (int i = from; i < from + count; i++) {
      validate(limits, i);
    }
    validatedFrom = adjoins ? Math.min(validatedFrom, from) : from;
    validatedTo = adjoins ? Math.max(validatedTo, from + count) : from + count;
    validatedDomain = limits.domain();
    validatedInlineData = limits.inlineData();
    checked(limits.queue(), closings);
  }

  private void validate(QueueLimits limits, int request) {
    if (used[request] > limits.entries()) {
      throw new IllegalArgumentException(
          describe(request)
              + " has "
              + used[request]
              + " entries; "
              + limits.queue()
              + " takes "
              + limits.entries());
    }
    for (int entry = 0; entry < used[request]; entry++) {
      if (named[request * entriesEach + entry] instanceof MemoryRegion region) {
        validate(limits, request, region, region.domain());
        region.requireMemory();
        watch(region.scope());
        if (isWritten(request)) {
          region.requireLocallyWritable(describe(request));
        }
      }
    }
    validateKind(limits, request);
  }

  /** Refuses an object that is closed, or of another domain than the queue. */
  final void validate(QueueLimits limits, int request, Resource named, ProtectionDomain domain) {
    if (!named.isOpen()) {
      throw new IllegalStateException(describe(request) + " names " + named + ", which is closed");
    }
    if (!domain.isOneWith(limits.domain())) {
      throw new IllegalArgumentException(
          describe(request)
              + " names "
              + named
              + ", which is of another protection domain than "
              + limits.queue());
    }
  }

  /** Checks what only this kind of list knows. */
  abstract void validateKind(QueueLimits limits, int request);

  /** The state from which on a queue pair takes such requests. */
  abstract QueuePairState firstState();

  /**
   * What became of a range that C did not take in whole.
   *
   * @return how many requests were taken, if the queue is full
   * @throws IllegalStateException if it is a queue pair that takes no such requests yet
   * @throws VerbsException if anything else is wrong
   */
  final int taken(String function, int result, Resource queue, int from, int count) {
    int errno = Math.abs(result); // Some providers return it negative.
    long refusedAddress = getLong(refusedWord());
    putLong(refusedWord(), 0);
    long index = (refusedAddress - requests) >> requestShift;
    boolean known = refusedAddress != 0 && index >= from && index < (long) from + count;
    refused = known ? (int) index : -1;
    if (queue instanceof QueuePair queuePair) {
      queuePair.requireReached(firstState(), function, errno);
    }
    if (!known) {
      throw new VerbsException(
          function,
          errno,
          "on "
              + queue
              + "; it did not say which of the "
              + count
              + " requests it refuses"
              + hint(errno));
    }
    int taken = refused - from;
    if (errno == Errno.ENOMEM) {
      return taken;
    }
    throw new VerbsException(
        function,
        errno,
        describe(refused)
            + " on "
            + queue
            + "; the "
            + taken
            + " requests before it were taken"
            + hint(errno));
  }

  private static String hint(int errno) {
    return errno == Errno.EINVAL ? "; does the queue's state allow posting?" : "";
  }
}
