package dev.verbena.simulated;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.verbena.simulated.SentRequest.Kind;
import dev.verbena.values.CompletionFlag;
import dev.verbena.values.CompletionStatus;
import dev.verbena.verbs.Completions;
import dev.verbena.verbs.MemoryRegion;
import dev.verbena.verbs.QueuePair;
import dev.verbena.verbs.RemoteMemory;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.HashSet;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;

/**
 * The history of requests from the end a to the end b, checked as it is made: what each completion
 * promises holds, and holds from then on.
 */
final class RequestHistory {
  /** The size of the place of each request and receive in the memory of either end. */
  static final int SLOT = 10 << 10;

  /** Of the memory behind the data of a request, so much is checked. */
  private static final int BEHIND = 64;

  private static final byte OWNED = 0x77;

  private static final int GRH = 40;

  final List<Path> paths = new ArrayList<>();
  final List<SentRequest> sent = new ArrayList<>();

  /** RDMA writes whose data the receiver has. */
  private final Set<SentRequest> owned = new HashSet<>();

  /** Where each request was posted. */
  private final List<Stream> streams = new ArrayList<>();

  final List<Receipt> receives = new ArrayList<>();

  /** Memory that nothing may write to any more, by address, and its content. */
  private final Map<MemorySegment, byte[]> kept = new LinkedHashMap<>();

  /** What is added to, what is swapped, what is incremented meanwhile: at the end b. */
  final MemorySegment words;

  private final MemorySegment memoryAtA;
  private final MemorySegment memoryAtB;

  /** The last number at b. */
  long number;

  /** The last known value of what is swapped. */
  long lastSeen;

  /** No request may fail. */
  boolean isFailureFree;

  private final boolean isOrdered;

  /** A message arrives if its request succeeds. */
  boolean isLossless = true;

  /** The network may repeat and reorder packets, and the transport does not detect it. */
  boolean isRepeated;

  /** A queue pair of b receives from several of a, also after one of them has failed. */
  boolean isShared;

  /** Messages are datagrams with a GRH. */
  private final boolean isDatagram;

  RequestHistory(
      MemorySegment memoryAtA,
      MemorySegment memoryAtB,
      MemorySegment words,
      boolean isOrdered,
      boolean isDatagram) {
    this.memoryAtA = memoryAtA;
    this.memoryAtB = memoryAtB;
    this.words = words;
    this.isOrdered = isOrdered;
    this.isDatagram = isDatagram;
  }

  SentRequest add(Stream stream, SentRequest request) {
    sent.add(request);
    streams.add(stream);
    stream.requests.add(request);
    return request;
  }

  /** The place of a request or receive in the memory of either end. */
  static MemorySegment slot(MemorySegment memory, int index) {
    return memory.asSlice((long) index * SLOT, SLOT);
  }

  private MemorySegment slotAtA(int index) {
    return slot(memoryAtA, index);
  }

  private MemorySegment slotAtB(int index) {
    return slot(memoryAtB, index);
  }

  /** A queue pair of either end, which are connected. */
  static final class Path {
    final QueuePair a;
    final QueuePair b;
    private final int numberAtA;
    final int numberAtB;
    final List<Stream> streams = new ArrayList<>();
    private boolean failed;

    /** What RDMA writes are for. */
    final RemoteMemory target;

    /** Their remote key. */
    int targetKey;

    /** How many requests had been made when that key became invalid. */
    private int targetEnd = Integer.MAX_VALUE;

    /** Nothing more completes at an end whose queue pair was reset or destroyed. */
    boolean isDiscardedAtA;

    boolean isDiscardedAtB;
    private boolean isFlushingReceives;
    private int nextReceive;
    final List<Receipt> receives = new ArrayList<>();

    Path(QueuePair a, QueuePair b, MemoryRegion target) {
      this.a = a;
      this.b = b;
      this.target = RemoteMemory.of(target);
      targetKey = target.rkey();
      numberAtA = a.number();
      numberAtB = b.number();
    }
  }

  /** The requests of one poster, in order. */
  static final class Stream {
    final Path path;
    final List<SentRequest> requests = new ArrayList<>();
    int unsignaled;

    Stream(Path path) {
      this.path = path;
    }
  }

  /** A receive request. */
  static final class Receipt {
    final int slot;
    final int length;
    final Path path;
    boolean isComplete;

    Receipt(int slot, int length, Path path) {
      this.slot = slot;
      this.length = length;
      this.path = path;
    }
  }

  /** A receive request is posted: nothing may write behind its buffer. */
  void add(Receipt receipt) {
    receives.add(receipt);
    if (receipt.path != null) {
      receipt.path.receives.add(receipt);
    }
    if (receipt.length + BEHIND <= SLOT) {
      keep(slotAtB(receipt.slot).asSlice(receipt.length, BEHIND));
    }
  }

  /** Whether all requests after one that failed have completed, those that are unsignaled, too. */
  static boolean isFlushed(Path path) {
    return path.isDiscardedAtA
        || path.streams.stream()
            .allMatch(
                stream ->
                    stream.requests.stream()
                        .filter(r -> r.isPosted)
                        .dropWhile(r -> r.status == null || r.isSuccess())
                        .allMatch(r -> r.status != null));
  }

  boolean isDone(SentRequest request) {
    return !request.isPosted
        || !request.signaled
        || request.status != null
        || streams.get(request.id).path.isDiscardedAtA;
  }

  boolean isReceived(SentRequest request) {
    return !isLossless
        || !request.kind.isReceived()
        || !request.isSuccess()
        || request.isReceived
        || streams.get(request.id).path.isDiscardedAtB;
  }

  SentRequest lastWritten(Stream stream) {
    return stream.requests.reversed().stream()
        .filter(r -> r.kind.isWrite() && (isOrdered || r.isSuccess()) && !owned.contains(r))
        .findFirst()
        .orElse(null);
  }

  void sent(Completions completions, int index) {
    SentRequest request = sent.get((int) completions.id(index));
    Stream stream = streams.get(request.id);
    Path path = stream.path;
    CompletionStatus status = completions.status(index);
    assertNull(request.status, () -> request + " completes again: " + status);
    assertTrue(request.isPosted, () -> request + " completes: " + status);
    assertFalse(path.isDiscardedAtA, () -> request + " of a queue pair that was reset");
    assertEquals(path.numberAtA, completions.queuePairNumber(index));
    request.status = status;
    if (isOrdered) {
      for (SentRequest earlier : stream.requests) {
        if (earlier == request) {
          break;
        }
        assertTrue(isDone(earlier), () -> request + " completes before " + earlier);
      }
      assertTrue(
          !path.failed || status == CompletionStatus.WR_FLUSH_ERR,
          () -> request + " completes after an error");
    }
    if (status != CompletionStatus.SUCCESS) {
      assertFalse(isFailureFree, () -> request + " fails");
      path.failed |= isOrdered;
      return;
    }
    assertTrue(request.signaled, () -> request + " was not signaled");
    MemorySegment slot = slotAtA(request.id);
    switch (request.kind) {
      case READ -> assertData(request.written, slot, "read");
      case READ_NUMBER -> {
        long read = slot.get(ValueLayout.JAVA_LONG, 0);
        assertTrue(request.before <= read && read <= number, () -> request + " returns " + read);
      }
      case FETCH_ADD, COMPARE_SWAP -> {
        request.original = slot.get(ValueLayout.JAVA_LONG, 0);
        if (request.kind == Kind.COMPARE_SWAP) {
          lastSeen = request.original == request.before ? request.id + 1 : request.original;
        }
      }
      default -> {}
    }
    finish(slot, request.length);
  }

  private static void assertData(SentRequest written, MemorySegment data, String how) {
    assertEquals(written.id + 1, data.get(ValueLayout.JAVA_INT_UNALIGNED, 0), how + " " + written);
    int length = (int) Math.min(written.length, data.byteSize());
    for (int i = Integer.BYTES; i < length; i++) {
      assertEquals(written.data(i), data.get(ValueLayout.JAVA_BYTE, i), how + " " + written);
    }
  }

  /** Nothing may write to the memory of a request after its end. */
  private void finish(MemorySegment place, int length) {
    MemorySegment memory = checked(place, length);
    memory.fill(OWNED);
    keep(memory);
  }

  private static MemorySegment checked(MemorySegment place, int length) {
    return place.asSlice(0, Math.min(place.byteSize(), length + BEHIND));
  }

  /** Nothing may write to memory from now on. */
  private void keep(MemorySegment memory) {
    kept.put(memory, memory.toArray(ValueLayout.JAVA_BYTE));
  }

  /** RDMA writes over a path have no memory any more. */
  void targetEnded(Path path) {
    path.targetEnd = sent.size();
    for (Stream stream : path.streams) {
      for (SentRequest request : stream.requests) {
        keep(checked(slotAtB(request.id), request.length));
      }
    }
  }

  void received(Completions completions, int index) {
    Receipt receipt = receives.get((int) completions.id(index));
    assertFalse(receipt.isComplete, "a receive request completes again");
    receipt.isComplete = true;
    MemorySegment buffer = slotAtB(receipt.slot).asSlice(0, receipt.length);
    Path path = pathAtB(completions.queuePairNumber(index));
    assertFalse(path.isDiscardedAtB, "a receive of a queue pair that was reset");
    if (receipt.path != null) {
      assertEquals(path, receipt.path);
      assertEquals(path.receives.get(path.nextReceive++), receipt, "receives are not in order");
    }
    if (completions.status(index) != CompletionStatus.SUCCESS) {
      assertFalse(isFailureFree, () -> "a receive fails: " + completions.describe(index));
      boolean isTooShort = completions.status(index) == CompletionStatus.LOC_LEN_ERR;
      assertTrue(!isTooShort || receipt.length < SLOT, () -> completions.describe(index));
      path.isFlushingReceives |= !isShared && (!isDatagram || !isTooShort);
      finish(buffer, BEHIND);
      return;
    }
    assertFalse(path.isFlushingReceives, "a receive succeeds after one has failed");
    boolean isImmediate = completions.has(index, CompletionFlag.WITH_IMM);
    int header = isDatagram ? GRH : 0;
    MemorySegment message = buffer.asSlice(header);
    int id =
        isImmediate
            ? completions.immediate(index)
            : message.get(ValueLayout.JAVA_INT_UNALIGNED, 0) - 1;
    SentRequest request = sent.get(id);
    Stream stream = streams.get(id);
    assertEquals(path.numberAtB, stream.path.numberAtB);
    assertTrue(request.isPosted && request.kind.isReceived(), request::toString);
    assertFalse(request.isRefused, () -> request + " is received");
    assertEquals(request.kind != Kind.SEND, isImmediate, request::toString);
    assertTrue(isRepeated || !request.isReceived, () -> request + " is received again");
    assertEquals(request.length + header, completions.byteLength(index), request::toString);
    request.isReceived = true;
    if (request.kind == Kind.WRITE_IMMEDIATE) {
      assertTrue(hasTarget(request), () -> request + " has no memory");
      assertData(request, slotAtB(id), "written");
      if (!isOrdered) {
        own(stream, request);
      }
    } else {
      assertData(request, message, "received");
    }
    if (isDatagram) {
      checkHeader(completions, index, buffer, path);
    }
    finish(buffer, request.kind == Kind.WRITE_IMMEDIATE ? 0 : request.length + header);
    if (isOrdered && !isRepeated) {
      arrived(stream, request);
    }
  }

  /** The GRH of a datagram in an IPv4 network, and where it comes from. */
  private static void checkHeader(
      Completions completions, int index, MemorySegment buffer, Path path) {
    assertTrue(completions.has(index, CompletionFlag.GRH));
    assertEquals(path.numberAtA, completions.sourceQueuePair(index));
    assertEquals(0x45, buffer.get(ValueLayout.JAVA_BYTE, 20), "the version of IP");
    assertArrayEquals(
        new byte[] {(byte) 192, 0, 2, 1, (byte) 192, 0, 2, 2},
        buffer.asSlice(32, 2 * Integer.BYTES).toArray(ValueLayout.JAVA_BYTE),
        "the addresses of a GRH");
  }

  /** What was posted before a message has arrived with it, or never arrives. */
  private void arrived(Stream stream, SentRequest message) {
    boolean isEarlier = true;
    for (SentRequest other : stream.requests) {
      if (isEarlier) {
        if (isLossless && other.kind.isReceived()) {
          assertTrue(other.isReceived, () -> message + " is received before " + other);
        }
        if (other.kind.isWrite() && owned.add(other)) {
          assertWritten(other);
          own(stream, other);
        }
      } else {
        assertFalse(other.isReceived, () -> message + " is received after " + other);
      }
      isEarlier &= other != message;
    }
  }

  /** An RDMA write has written its data, or only the first of them if packets may be lost. */
  private void assertWritten(SentRequest request) {
    MemorySegment data = slotAtB(request.id);
    if (!hasTarget(request)) {
      assertFalse(isLossless && request.isSuccess(), () -> request + " has no memory");
      assertUntouched(request, data);
      return;
    }
    int length = isLossless ? request.length : 0;
    if (data.get(ValueLayout.JAVA_INT_UNALIGNED, 0) != 0) {
      length = Math.max(length, Integer.BYTES);
      while (length < request.length && data.get(ValueLayout.JAVA_BYTE, length) != 0) {
        length++;
      }
    }
    if (length > 0) {
      assertData(request, data.asSlice(0, length), "written");
    }
    assertUntouched(request, data.asSlice(length, request.length - length));
  }

  private boolean hasTarget(SentRequest request) {
    return request.id < streams.get(request.id).path.targetEnd;
  }

  private static void assertUntouched(SentRequest request, MemorySegment memory) {
    byte[] zeros = new byte[(int) memory.byteSize()];
    assertEquals(-1, memory.mismatch(MemorySegment.ofArray(zeros)), request::toString);
  }

  /** The receiver may use the data of an RDMA write: none is posted that reads them. */
  private void own(Stream stream, SentRequest write) {
    owned.add(write);
    if (stream.requests.stream().noneMatch(r -> r.written == write)) {
      finish(slotAtB(write.id), write.length);
    }
  }

  private Path pathAtB(int queuePairNumber) {
    return paths.stream().filter(p -> p.numberAtB == queuePairNumber).findFirst().orElseThrow();
  }

  void checkEnd() {
    kept.forEach(
        (memory, content) ->
            assertEquals(
                -1,
                memory.mismatch(MemorySegment.ofArray(content)),
                "memory was written after the end of its request"));
    checkAdditions();
    checkSwaps();
    for (SentRequest request : sent) {
      boolean isChecked = !request.kind.isWrite() || owned.contains(request);
      if (!isChecked && (request.isSuccess() || !hasTarget(request))) {
        assertWritten(request);
      }
    }
  }

  private void checkAdditions() {
    List<SentRequest> additions =
        sent.stream().filter(r -> r.kind == Kind.FETCH_ADD && r.isPosted).toList();
    long successes = additions.stream().filter(SentRequest::isSuccess).count();
    long sum = words.get(ValueLayout.JAVA_LONG, 0);
    assertTrue(
        successes <= sum && sum <= additions.size(),
        () -> sum + " after " + successes + " additions of " + additions);
    List<Long> originals =
        additions.stream().filter(SentRequest::isSuccess).map(r -> r.original).toList();
    assertEquals(originals.size(), originals.stream().distinct().count(), additions::toString);
    assertTrue(originals.stream().allMatch(o -> 0 <= o && o < sum), additions::toString);
  }

  /** Each value was replaced at most once, and by what was desired. */
  private void checkSwaps() {
    List<SentRequest> swaps =
        sent.stream().filter(r -> r.kind == Kind.COMPARE_SWAP && r.isPosted).toList();
    long last = words.get(ValueLayout.JAVA_LONG, Long.BYTES);
    Map<Long, SentRequest> replaced = new HashMap<>();
    for (SentRequest swap : swaps) {
      if (swap.isSuccess()) {
        assertTrue(isPossible(swap.original), swaps::toString);
        if (swap.original == swap.before) {
          assertNull(replaced.put(swap.before, swap), () -> swap.before + " was replaced twice");
        }
      }
    }
    assertTrue(isPossible(last), swaps::toString);
    assertFalse(replaced.containsKey(last), () -> last + " was replaced: " + swaps);
  }

  /** Whether the swapped word can have had a value: 0, or what a request desired. */
  private boolean isPossible(long value) {
    if (value == 0) {
      return true;
    }
    SentRequest swap = sent.get((int) value - 1);
    return swap.kind == Kind.COMPARE_SWAP
        && swap.isPosted
        && (!swap.isSuccess() || swap.original == swap.before);
  }
}
