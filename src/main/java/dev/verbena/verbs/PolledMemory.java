package dev.verbena.verbs;

import dev.verbena.internal.time.Spinning;
import dev.verbena.internal.time.Time;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.lang.invoke.VarHandle;
import java.time.Duration;
import java.util.Objects;

/**
 * Access to the memory of a region that a device or a peer reads and writes at the same time, for
 * programs that poll memory instead of a completion queue.
 *
 * <p>The receiver of an RDMA write waits for a number that the peer writes after the data:
 *
 * {@snippet :
 * PolledMemory memory = new PolledMemory(region);
 * while (!memory.awaitLong(flagOffset, expected, Duration.ofSeconds(1))) {
 *   // Nothing arrived within a second: look whether the connection still exists.
 * }
 * // Plain reads of region.memory() see what the peer wrote before the number.
 * memory.putLongRelease(consumedOffset, expected); // The peer reads this by RDMA read.
 * }
 *
 * <p>A read has acquire mode, a write release mode ({@link VarHandle}). Numbers have the byte order
 * of this machine. No method allocates. What the modes order, and what RDMA orders, is described in
 * {@code docs/threads.md}.
 *
 * <p>Several threads may use it. It needs no closing: once the region is closed, all methods throw
 * {@link IllegalStateException}.
 */
public final class PolledMemory {
  private static final VarHandle LONG = ValueLayout.JAVA_LONG.varHandle().withInvokeExactBehavior();
  private static final VarHandle BYTE = ValueLayout.JAVA_BYTE.varHandle().withInvokeExactBehavior();

  /** Between two looks at the time; a few microseconds. */
  private static final int SPINS = 64;

  /** What a wait is for. */
  private enum Wanted {
    BYTE,
    EQUAL,
    OTHER,
    AT_LEAST
  }

  private final MemoryRegion region;

  /**
   * Creates access to the memory of a region.
   *
   * @param region the region
   * @throws IllegalStateException if the region is closed, or its memory is not of this process
   */
  public PolledMemory(MemoryRegion region) {
    if (region.memory().byteSize() != region.length()) {
      throw new IllegalStateException("the memory of " + region + " is not of this process");
    }
    this.region = region;
  }

  /**
   * Reads a number with acquire mode: later reads of this thread see what was written before it.
   *
   * @param offset the offset in the region; the address must be a multiple of 8
   * @return the number
   * @throws IndexOutOfBoundsException if it is not inside the region
   * @throws IllegalArgumentException if the address is not a multiple of 8
   * @throws IllegalStateException if the region, or the arena of its memory, is closed
   * @throws WrongThreadException if the memory is of a confined arena of another thread
   */
  public long getLongAcquire(long offset) {
    MemorySegment memory = memory(offset, Long.BYTES);
    requireAligned(memory, offset);
    try {
      return (long) LONG.getAcquire(memory, offset);
    } catch (IllegalStateException e) {
      throw arenaClosed(e);
    }
  }

  /**
   * Reads a byte with acquire mode: later reads of this thread see what was written before it.
   *
   * @param offset the offset in the region
   * @return the byte
   * @throws IndexOutOfBoundsException if it is not inside the region
   * @throws IllegalStateException if the region, or the arena of its memory, is closed
   * @throws WrongThreadException if the memory is of a confined arena of another thread
   */
  public byte getByteAcquire(long offset) {
    MemorySegment memory = memory(offset, Byte.BYTES);
    try {
      return (byte) BYTE.getAcquire(memory, offset);
    } catch (IllegalStateException e) {
      throw arenaClosed(e);
    }
  }

  /**
   * Writes a number with release mode: a reader of the new value also sees what this thread wrote
   * before.
   *
   * @param offset the offset in the region; the address must be a multiple of 8
   * @param value the number
   * @throws IndexOutOfBoundsException if it is not inside the region
   * @throws IllegalArgumentException if the address is not a multiple of 8, or the memory is
   *     read-only
   * @throws IllegalStateException if the region, or the arena of its memory, is closed
   * @throws WrongThreadException if the memory is of a confined arena of another thread
   */
  public void putLongRelease(long offset, long value) {
    MemorySegment memory = writable(offset, Long.BYTES);
    requireAligned(memory, offset);
    try {
      LONG.setRelease(memory, offset, value);
    } catch (IllegalStateException e) {
      throw arenaClosed(e);
    }
  }

  /**
   * Writes a byte with release mode: a reader of the new value also sees what this thread wrote
   * before.
   *
   * @param offset the offset in the region
   * @param value the byte
   * @throws IndexOutOfBoundsException if it is not inside the region
   * @throws IllegalArgumentException if the memory is read-only
   * @throws IllegalStateException if the region, or the arena of its memory, is closed
   * @throws WrongThreadException if the memory is of a confined arena of another thread
   */
  public void putByteRelease(long offset, byte value) {
    MemorySegment memory = writable(offset, Byte.BYTES);
    try {
      BYTE.setRelease(memory, offset, value);
    } catch (IllegalStateException e) {
      throw arenaClosed(e);
    }
  }

  /**
   * Waits until a number has a value: reads it again and again, and after some time lets other
   * threads run between two reads. A value that is there for a moment only may be missed.
   *
   * @param offset the offset in the region; the address must be a multiple of 8
   * @param expected the value
   * @param timeout the maximum time to wait; a negative time is the same as zero
   * @return whether the number has the value; false if the timeout elapsed
   * @throws InterruptedException if the thread is interrupted; a value that is there is returned
   *     before
   * @throws IndexOutOfBoundsException if the number is not inside the region
   * @throws IllegalArgumentException if the address is not a multiple of 8
   * @throws IllegalStateException if the region, or the arena of its memory, is closed, also during
   *     the wait
   * @throws WrongThreadException if the memory is of a confined arena of another thread
   */
  public boolean awaitLong(long offset, long expected, Duration timeout)
      throws InterruptedException {
    return await(Wanted.EQUAL, offset, expected, timeout);
  }

  /**
   * Waits until a number has another value than one that is known, as {@link #awaitLong} does. The
   * new value is read by {@link #getLongAcquire}.
   *
   * @param offset the offset in the region; the address must be a multiple of 8
   * @param known the value that the number has
   * @param timeout the maximum time to wait; a negative time is the same as zero
   * @return whether the number has changed; false if the timeout elapsed
   * @throws InterruptedException if the thread is interrupted
   */
  public boolean awaitChange(long offset, long known, Duration timeout)
      throws InterruptedException {
    return await(Wanted.OTHER, offset, known, timeout);
  }

  /**
   * Waits until a number that a peer increases is at least a value, as {@link #awaitLong} does. The
   * numbers are compared by their difference, which must be less than 2<sup>63</sup>: a counter may
   * overflow.
   *
   * @param offset the offset in the region; the address must be a multiple of 8
   * @param least the value
   * @param timeout the maximum time to wait; a negative time is the same as zero
   * @return whether the number is at least the value; false if the timeout elapsed
   * @throws InterruptedException if the thread is interrupted
   */
  public boolean awaitAtLeast(long offset, long least, Duration timeout)
      throws InterruptedException {
    return await(Wanted.AT_LEAST, offset, least, timeout);
  }

  /**
   * Waits until a byte has a value, as {@link #awaitLong} does for a number.
   *
   * @param offset the offset in the region
   * @param expected the value
   * @param timeout the maximum time to wait; a negative time is the same as zero
   * @return whether the byte has the value; false if the timeout elapsed
   * @throws InterruptedException if the thread is interrupted
   */
  public boolean awaitByte(long offset, byte expected, Duration timeout)
      throws InterruptedException {
    return await(Wanted.BYTE, offset, expected, timeout);
  }

  private boolean await(Wanted wanted, long offset, long value, Duration timeout)
      throws InterruptedException {
    Objects.requireNonNull(timeout, "timeout");
    if (holds(wanted, offset, value)) {
      return true;
    }
    long start = Time.now();
    do {
      for (int i = 0; i < SPINS; i++) {
        Time.pause();
        if (holds(wanted, offset, value)) {
          return true;
        }
      }
    } while (Spinning.isTimeLeft(start, CompletionWaiter.saturated(timeout)));
    return false;
  }

  private boolean holds(Wanted wanted, long offset, long value) {
    return switch (wanted) {
      case BYTE -> getByteAcquire(offset) == value;
      case EQUAL -> getLongAcquire(offset) == value;
      case OTHER -> getLongAcquire(offset) != value;
      case AT_LEAST -> getLongAcquire(offset) - value >= 0;
    };
  }

  private MemorySegment memory(long offset, int size) {
    MemorySegment memory = region.memory();
    if (offset < 0 || offset > memory.byteSize() - size) {
      throw new IndexOutOfBoundsException(
          "%d bytes at offset %d are not inside %s, which has %d bytes"
              .formatted(size, offset, region, memory.byteSize()));
    }
    return memory;
  }

  /**
   * The arena, and with it the region, was closed after the check of the region. The JDK's message
   * does not name what is closed.
   */
  private IllegalStateException arenaClosed(IllegalStateException e) {
    return new IllegalStateException(region.core + " is closed, with the arena of its memory", e);
  }

  private MemorySegment writable(long offset, int size) {
    MemorySegment memory = memory(offset, size);
    if (memory.isReadOnly()) {
      throw new IllegalArgumentException("the memory of " + region + " is read-only");
    }
    return memory;
  }

  /** A number whose bytes are in two words could be read before all of it is written. */
  private static void requireAligned(MemorySegment memory, long offset) {
    if ((memory.address() + offset) % Long.BYTES != 0) {
      throw new IllegalArgumentException(
          "the address of a number must be a multiple of 8, also for the device: offset %d of memory at 0x%x"
              .formatted(offset, memory.address()));
    }
  }

  @Override
  public String toString() {
    return "memory of " + region;
  }
}
