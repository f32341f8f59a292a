package dev.verbena.benchmarks;

import static java.lang.foreign.ValueLayout.ADDRESS;
import static java.lang.foreign.ValueLayout.JAVA_INT;
import static java.lang.foreign.ValueLayout.JAVA_LONG;

import dev.verbena.benchmarks.DataPath.Choice;
import java.lang.foreign.Arena;
import java.lang.foreign.FunctionDescriptor;
import java.lang.foreign.Linker;
import java.lang.foreign.MemoryLayout;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.SymbolLookup;
import java.lang.invoke.MethodHandle;

/**
 * The loops in C, of the library that {@code -Dbenchmarks.loops} names: one call runs a whole loop,
 * so that the cost of the call is negligible.
 */
final class CLoop implements MeasuredLoop {
  private static final SymbolLookup LOOPS =
      SymbolLookup.libraryLookup(System.getProperty("benchmarks.loops"), Arena.global());
  private static final MethodHandle LISTS =
      handle(
          "lists_new",
          FunctionDescriptor.of(
              ADDRESS, ADDRESS, ADDRESS, JAVA_INT, JAVA_INT, JAVA_INT, JAVA_INT, ADDRESS, JAVA_INT,
              JAVA_INT));
  private static final MethodHandle POST_SENDS = loop("post_sends", ADDRESS, ADDRESS);
  private static final MethodHandle POST_INLINE = loop("post_inline", ADDRESS, ADDRESS);
  private static final MethodHandle POST_WR = loop("post_wr", ADDRESS, ADDRESS);
  private static final MethodHandle POLL_ALL = loop("poll_all", ADDRESS, ADDRESS);
  private static final MethodHandle POLL_EMPTY = loop("poll_empty", ADDRESS, ADDRESS);
  private static final MethodHandle POLL_CURSOR = loop("poll_cursor", ADDRESS, ADDRESS);
  private static final MethodHandle REPOST = loop("repost", ADDRESS, ADDRESS, ADDRESS, ADDRESS);

  private final long rounds;
  private final MemorySegment lists;
  private final MemorySegment pair;
  private final MemorySegment queue;
  private final MemorySegment shared;
  private final boolean isPosting;
  private final boolean isInline;
  private final boolean isExtended;

  CLoop(Choice choice, Queues queues) throws Throwable {
    if (choice.interval > 1 || choice.polled > 0 || choice.pairs > 1 || choice.size != 64) {
      throw new IllegalArgumentException("C does not have this choice: -p c=false");
    }
    rounds = REQUESTS / choice.batch;
    pair = queues.pairs[0].segment();
    queue = choice.isExtended() ? queues.extended.segment() : queues.queue.segment();
    shared = queues.shared == null ? MemorySegment.NULL : queues.shared.segment();
    boolean isSrd = queues.handle != null;
    MemorySegment handle = isSrd ? queues.handle.segment() : MemorySegment.NULL;
    lists =
        (MemorySegment)
            LISTS.invokeExact(
                queues.region.segment(),
                queues.peerRegion.segment(),
                choice.batch,
                choice.sges,
                choice.isWrite() ? 1 : 0,
                choice.isInline() ? 1 : 0,
                handle,
                isSrd ? queues.peer.number() : 0,
                isSrd ? queues.peer.localAddress().queueKey() : 0);
    isPosting = isSrd || choice.by.equals("posting");
    isInline = choice.isInline();
    isExtended = choice.isExtended();
  }

  private static MethodHandle handle(String name, FunctionDescriptor descriptor) {
    return Linker.nativeLinker().downcallHandle(LOOPS.find(name).orElseThrow(), descriptor);
  }

  private static MethodHandle loop(String name, MemoryLayout... arguments) {
    return handle(
        name, FunctionDescriptor.of(JAVA_LONG, arguments).appendArgumentLayouts(JAVA_LONG));
  }

  private static long checked(long result) {
    if (result == -1) {
      throw new IllegalStateException("the C loop failed");
    }
    return result;
  }

  @Override
  public void post() {
    try {
      long _ =
          checked(
              isPosting
                  ? (long) POST_WR.invokeExact(pair, lists, rounds)
                  : isInline
                      ? (long) POST_INLINE.invokeExact(pair, lists, rounds)
                      : (long) POST_SENDS.invokeExact(pair, lists, rounds));
    } catch (Throwable t) {
      throw new IllegalStateException(t);
    }
  }

  @Override
  public long poll() {
    try {
      return checked(
          isExtended
              ? (long) POLL_CURSOR.invokeExact(queue, lists, rounds)
              : (long) POLL_ALL.invokeExact(queue, lists, rounds));
    } catch (Throwable t) {
      throw new IllegalStateException(t);
    }
  }

  @Override
  public long pollEmpty() {
    try {
      return checked((long) POLL_EMPTY.invokeExact(queue, lists, (long) REQUESTS));
    } catch (Throwable t) {
      throw new IllegalStateException(t);
    }
  }

  private long repost(MemorySegment polled) {
    try {
      return checked((long) REPOST.invokeExact(pair, shared, polled, lists, rounds));
    } catch (Throwable t) {
      throw new IllegalStateException(t);
    }
  }

  @Override
  public void postReceives() {
    long _ = repost(MemorySegment.NULL);
  }

  @Override
  public long receive() {
    return repost(queue);
  }
}
