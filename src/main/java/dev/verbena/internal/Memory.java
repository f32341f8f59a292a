package dev.verbena.internal;

import static java.lang.foreign.ValueLayout.ADDRESS;
import static java.lang.foreign.ValueLayout.JAVA_INT;
import static java.lang.foreign.ValueLayout.JAVA_LONG;

import dev.verbena.Errno;
import dev.verbena.VerbsException;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;

/** Memory that C owns, by address. The only place where an address becomes readable. */
public final class Memory {
  private static final MemorySegment ALL = MemorySegment.NULL.reinterpret(Long.MAX_VALUE);

  private Memory() {}

  /** The memory of one C object: bounded, not owned, valid as long as C keeps it. */
  public static MemorySegment at(long address, long size) {
    if (address == 0) {
      throw new NullPointerException("a NULL pointer where C promises an object");
    }
    return MemorySegment.ofAddress(address).reinterpret(size);
  }

  /** The memory of one C object that is valid as long as an arena is open. */
  public static MemorySegment at(long address, long size, Arena arena) {
    return at(address, size).reinterpret(arena, null);
  }

  /** Runs something when an arena is closed, before memory is freed that it allocated so far. */
  public static void beforeFree(Arena arena, Runnable action) {
    MemorySegment unused = MemorySegment.NULL.reinterpret(arena, segment -> action.run());
    assert unused.address() == 0;
  }

  /** Reads a pointer or another 64-bit number. */
  public static long getLong(long address) {
    return ALL.get(JAVA_LONG, address);
  }

  /** Reads a 32-bit number. */
  public static int getInt(long address) {
    return ALL.get(JAVA_INT, address);
  }

  /** Writes a pointer or another 64-bit number. */
  public static void putLong(long address, long value) {
    ALL.set(JAVA_LONG, address, value);
  }

  /** Writes a 32-bit number. */
  public static void putInt(long address, int value) {
    ALL.set(JAVA_INT, address, value);
  }

  /** Reads a C string, or null for NULL. */
  public static String string(long address) {
    return address == 0
        ? null
        : MemorySegment.ofAddress(address).reinterpret(Long.MAX_VALUE).getString(0);
  }

  /**
   * Reads a function pointer.
   *
   * @throws VerbsException EOPNOTSUPP if the provider left it NULL
   */
  public static MemorySegment function(long address, String function) {
    MemorySegment pointer = ALL.get(ADDRESS, address);
    if (pointer.address() == 0) {
      throw new VerbsException(
          function, Errno.EOPNOTSUPP, "the device's provider does not implement it");
    }
    return pointer;
  }
}
