package dev.verbena.verbs;

import dev.verbena.internal.BoundsChecks;
import dev.verbena.internal.Ranges;
import dev.verbena.internal.foreign.Block;
import dev.verbena.internal.foreign.Memory;
import dev.verbena.internal.life.Core;
import dev.verbena.internal.life.DataPathUser;
import dev.verbena.raw.ibv_recv_wr;
import dev.verbena.raw.ibv_sge;
import dev.verbena.values.QueuePairType;
import dev.verbena.values.SendOperation;
import java.nio.ByteOrder;
import java.util.Objects;
import java.util.Set;
import org.jspecify.annotations.Nullable;

/**
 * A list of work requests in native memory with their scatter/gather elements (SGEs): formatted
 * once, patched and posted repeatedly without allocation.
 *
 * <p>A list is used by one thread at a time; the first post of another thread takes some
 * microseconds longer. It may be posted to any queue that its requests suit. Its memory is freed by
 * the garbage collector; once a request was posted, the list can be changed.
 */
public abstract class RequestList {
  // Requests of both kinds begin with the same fields.
  static final long ID = ibv_recv_wr.wr_id$offset();
  static final long NEXT = ibv_recv_wr.next$offset();
  static final long SGES = ibv_recv_wr.sg_list$offset();
  static final long SGE_COUNT = ibv_recv_wr.num_sge$offset();

  private static final long SGE_ADDRESS = ibv_sge.addr$offset();
  private static final long SGE_LENGTH = ibv_sge.length$offset();

  /** Whether the length is in the lower bits of the {@code long} that stores length and key. */
  private static final boolean LENGTH_THEN_KEY = ByteOrder.nativeOrder() == ByteOrder.LITTLE_ENDIAN;

  private static final int SGE_SHIFT = Long.numberOfTrailingZeros(ibv_sge.sizeof());
  private static final long SGE_LIMIT = 1L << Integer.SIZE;

  /** The offset of {@code bad_wr}, the address of the request that failed. */
  private static final long BAD_REQUEST = 0;

  private static final long REQUESTS = 64;

  final Block memory;
  private final int maxSges;
  private final int requestShift;
  private final long requests;
  private final long sges;

  /** The number of SGEs of each request. */
  private final int[] used;

  /** The region of each SGE, and other objects that requests name. */
  private final Resource[] named;

  /** The index after the request whose {@code next} is null. */
  private int end;

  /** The range of requests that are validated for the queue of the last check. */
  private int validatedFrom;

  private int validatedTo;
  private long validatedDomain;
  private int validatedInlineData;

  private int badRequest = -1;

  /** Allows one thread at a time to use the list. */
  final DataPathUser user = new DataPathUser(this);

  RequestList(int requests, int maxSges, long requestSize, long extra, int others) {
    var _ = Ranges.positive(requests, "number of requests");
    this.maxSges = Ranges.notNegative(maxSges, "number of SGEs");
    this.requestShift = Long.numberOfTrailingZeros(requestSize);
    requireArray(requests, (long) maxSges + others);
    int allSges = requests * maxSges;
    this.memory = new Block(endOfSges(requests, maxSges, requestSize) + extra);
    this.requests = memory.address(REQUESTS);
    this.sges = memory.address(REQUESTS + requests * requestSize);
    this.used = new int[requests];
    this.named = new Resource[allSges + requests * others];
    this.end = requests - 1;
    for (int i = 0; i < requests; i++) {
      putLong(at(i) + SGES, sgeAt(i * maxSges));
      link(i);
    }
  }

  static long endOfSges(int requests, int maxSges, long requestSize) {
    return REQUESTS + requests * (requestSize + maxSges * ibv_sge.sizeof());
  }

  /** {@return the number of requests of the list} */
  public final int size() {
    return used.length;
  }

  /** {@return the maximum number of SGEs of each request} */
  public final int maxSges() {
    return maxSges;
  }

  /**
   * Returns the index of the request that failed when the last post threw an exception: {@code
   * bad_wr}. The requests before it were posted.
   *
   * @return the index; -1 if no post failed, or if the provider did not return it
   */
  public final int badRequest() {
    return badRequest;
  }

  /**
   * Sets the {@code wr_id}, which the completion returns.
   *
   * @param request the index of the request
   * @param id any value
   */
  public final void id(int request, long id) {
    putLong(at(checked(request)) + ID, id);
  }

  /**
   * {@return the {@code wr_id} of a request}
   *
   * @param request the index of the request
   */
  public final long id(int request) {
    return getLong(at(checked(request)) + ID);
  }

  /**
   * Sets the first SGE of a request, or adds it.
   *
   * @param request the index of the request
   * @param region a registered memory region
   * @param offset the offset of the data in the region, in bytes
   * @param length the length in bytes
   * @throws IndexOutOfBoundsException if the data is not inside the region
   */
  public final void local(int request, MemoryRegion region, long offset, long length) {
    local(request, 0, region, offset, length);
  }

  /**
   * Sets an SGE of a request, or adds the next one.
   *
   * @param request the index of the request
   * @param sge the index of the SGE
   * @param region a registered memory region
   * @param offset the offset of the data in the region, in bytes
   * @param length the length in bytes
   * @throws IndexOutOfBoundsException if the data is not inside the region
   */
  public final void local(int request, int sge, MemoryRegion region, long offset, long length) {
    int index = sge(request, sge);
    region.core.requireOpen();
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
   * Sets an SGE of a request without a check of the memory, for memory that has no {@link
   * MemoryRegion}. With a wrong address the work request fails, or other data is sent or
   * overwritten.
   *
   * @param request the index of the request
   * @param sge the index of the SGE: an existing one or the next one
   * @param address the address of the data, according to the registration
   * @param length the length in bytes
   * @param lkey the local key
   */
  public final void localUnchecked(int request, int sge, long address, int length, int lkey) {
    int index = sge(request, sge);
    if (named[index] != null) {
      rename(request, index, null);
    }
    put(index, address, length, lkey);
  }

  /**
   * {@return the number of SGEs of a request, 0 to {@link #maxSges}}
   *
   * @param request the index of the request
   */
  public final int sges(int request) {
    return used[checked(request)];
  }

  @Override
  public String toString() {
    return getClass().getSimpleName() + " of " + size() + " requests of " + maxSges + " SGEs";
  }

  final int checked(int request) {
    return BoundsChecks.ON ? Objects.checkIndex(request, used.length) : request;
  }

  static RuntimeException outside(MemoryRegion region, long offset, long length) {
    if (length >= SGE_LIMIT) {
      return new IllegalArgumentException(
          "length of an SGE must be 0 to 2^32 - 1 bytes: " + length);
    }
    try {
      region.addressOf(offset, length);
    } catch (RuntimeException e) {
      return e;
    }
    throw new AssertionError("%d bytes at %d of %s".formatted(length, offset, region));
  }

  /** Returns the index of an SGE among those of all requests. */
  private int sge(int request, int sge) {
    int has = used[checked(request)];
    if (sge < 0 || sge >= has) {
      addSge(request, sge);
    }
    return request * maxSges + sge;
  }

  private void addSge(int request, int sge) {
    if (sge != used[request] || sge >= maxSges) {
      throw new IndexOutOfBoundsException(
          "SGE %s of %s, which has %s SGEs of at most %s"
              .formatted(sge, describe(request), used[request], maxSges));
    }
    requireSges(request);
    setSges(request, sge + 1);
  }

  /** Checks that the number of SGEs of all requests fits into a Java array. */
  static void requireArray(int requests, long maxSges) {
    if (requests * maxSges > Integer.MAX_VALUE) {
      throw new IllegalArgumentException(
          "%d requests with %d SGEs each: the maximum of a list is 2^31 - 1 SGEs"
              .formatted(requests, maxSges));
    }
  }

  /** Throws an exception if a request cannot have SGEs. */
  abstract void requireSges(int request);

  /** Returns whether the device writes to the SGEs of a request. */
  abstract boolean isWritten(int request);

  /** Returns the kind and index of a request, for messages. */
  abstract String describe(int request);

  final void setSges(int request, int count) {
    used[request] = count;
    setSgeCount(request, count);
  }

  final void setSgeCount(int request, int count) {
    putInt(at(request) + SGE_COUNT, count);
    user.forgetCheck();
  }

  final void put(int sge, long address, int length, int lkey) {
    long at = sgeAt(sge);
    putLong(at + SGE_ADDRESS, address);
    putLong(at + SGE_LENGTH, LENGTH_THEN_KEY ? pair(length, lkey) : pair(lkey, length));
  }

  /** Two fields of four bytes as one value. */
  private static long pair(int low, int high) {
    return Integer.toUnsignedLong(low) | (long) high << Integer.SIZE;
  }

  /** Sets the first SGE of a request to inline data that the list contains. */
  final void putInline(int request, long offset, int length) {
    put(request * maxSges, memory.address(offset), length, 0);
  }

  final int inlineLength(int request) {
    return getInt(sgeAt(request * maxSges) + SGE_LENGTH);
  }

  final void putInlineLength(int request, int length) {
    putInt(sgeAt(request * maxSges) + SGE_LENGTH, length);
    if (length > validatedInlineData) {
      user.forgetCheck();
    }
  }

  /** Stores an object that a request names, so that a post can check that it is open. */
  private void rename(int request, int index, MemoryRegion region) {
    named[index] = region;
    if (region != null && !isValidFor(request, region)) {
      user.forgetCheck();
    }
  }

  /** Returns whether a validated request remains valid with another region. */
  private boolean isValidFor(int request, MemoryRegion region) {
    return region.domain().root() == validatedDomain
        && (region.isLocallyWritable() || !isWritten(request));
  }

  /** Stores an object that a request names besides the regions of its SGEs. */
  @SuppressWarnings("ReferenceEquality") // A resource equals itself alone.
  final void name(int request, int other, int others, Resource resource) {
    int index = used.length * maxSges + request * others + other;
    if (named[index] != resource) {
      named[index] = resource;
      user.forgetCheck();
    }
  }

  final Resource named(int request, int other, int others) {
    return named[used.length * maxSges + request * others + other];
  }

  final long at(int request) {
    return Block.known(requests + ((long) request << requestShift));
  }

  private long sgeAt(int sge) {
    return Block.known(sges + ((long) sge << SGE_SHIFT));
  }

  // Each access keeps the list, and so its memory, reachable until it is done.

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
   * Links a range of requests to the list that is posted. Does nothing if the range ends at the
   * same request as before.
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

  /** Returns the address of {@code bad_wr}. */
  final long badRequestWord() {
    return memory.address(BAD_REQUEST);
  }

  /** Returns whether a range is validated for a queue, and still valid. */
  final boolean isValidated(Core queue, int from, int count) {
    return user.isCheckedFor(queue)
        && from >= validatedFrom
        && count >= 0
        && count <= validatedTo - from;
  }

  /** Validates each request of a range, and records that all are valid. */
  final void validate(Limits limits, int from, int count) {
    Objects.checkFromIndexSize(from, count, used.length);
    final int closings = Core.closingsBefore();
    user.use(limits.queue());
    boolean adjoins =
        isValidated(limits.queue(), validatedFrom, 0)
            && from <= validatedTo
            && from + count >= validatedFrom;
    if (!adjoins) {
      user.forgetCheck();
    }
    for (int i = from; i < from + count; i++) {
      validate(limits, i);
    }
    validatedFrom = adjoins ? Math.min(validatedFrom, from) : from;
    validatedTo = adjoins ? Math.max(validatedTo, from + count) : from + count;
    validatedDomain = limits.domain();
    validatedInlineData = limits.inlineData();
    user.checked(limits.queue(), closings);
  }

  private void validate(Limits limits, int request) {
    if (used[request] > limits.sges()) {
      throw new IllegalArgumentException(
          "%s has %s SGEs; %s allows %s"
              .formatted(describe(request), used[request], limits.queue(), limits.sges()));
    }
    for (int sge = 0; sge < used[request]; sge++) {
      if (named[request * maxSges + sge] instanceof MemoryRegion region) {
        validate(limits, request, region, region.domain());
        region.requireMemory();
        if (isWritten(request)) {
          region.requireLocallyWritable(describe(request));
        }
      }
    }
    validateKind(limits, request);
  }

  /**
   * Throws an exception if an object is closed, or belongs to another protection domain than the
   * queue.
   */
  final void validate(Limits limits, int request, Resource named, ProtectionDomain domain) {
    if (!named.isOpen()) {
      throw new IllegalStateException(
          describe(request) + " names " + named.core + ", which is closed");
    }
    if (domain.root() != limits.domain()) {
      throw new IllegalArgumentException(
          "%s names %s, which is of another protection domain than %s"
              .formatted(describe(request), named, limits.queue()));
    }
  }

  /** Validates the fields of this kind of request. */
  abstract void validateKind(Limits limits, int request);

  /** Reads the index of the failed request of a range from bad_wr, after a post that failed. */
  final void readBadRequest(int from, int count) {
    long bad = getLong(badRequestWord());
    putLong(badRequestWord(), 0);
    long index = (bad - requests) >> requestShift;
    badRequest = bad != 0 && index >= from && index < (long) from + count ? (int) index : -1;
  }

  /**
   * The limits of a queue, against which work requests are validated before they are posted.
   *
   * @param queue the lifecycle of the queue pair, shared receive queue or work queue
   * @param domain the {@linkplain ProtectionDomain#root root} of its protection domain
   * @param type the type of the queue pair; null for receive requests, which all types allow
   * @param operations the send operations that can be posted through {@code ibv_wr_*}
   * @param sges the maximum number of SGEs of a request
   * @param inlineData the maximum size of the inline data of a request, in bytes
   */
  record Limits(
      Core queue,
      long domain,
      @Nullable QueuePairType type,
      Set<SendOperation> operations,
      int sges,
      int inlineData) {
    static Limits ofReceives(Core queue, long domain, int sges) {
      return new Limits(queue, domain, null, Set.of(), sges, 0);
    }

    /** Returns whether each send request names its destination. */
    boolean namesDestination() {
      return type.isAddressed() || type == QueuePairType.DC_INITIATOR;
    }

    /** Describes a request that does not name it. */
    String hasNoDestination() {
      return type == QueuePairType.DC_INITIATOR
          ? " has no DC target, which a DC_INITIATOR queue pair requires: call toTarget()"
          : " has no address handle, which a " + type + " queue pair requires: call to()";
    }
  }
}
