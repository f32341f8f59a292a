package dev.verbena.internal.foreign;

import static java.lang.foreign.ValueLayout.ADDRESS;

import dev.verbena.Errno;
import dev.verbena.VerbsException;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.lang.invoke.VarHandle;

/**
 * Access by address to memory that C code owns or uses. The only class that accesses memory by
 * address.
 *
 * <p>Numbers are accessed through constant segments and layouts, without a check of alignment or
 * scope: C2 compiles each access to one instruction, which the data path requires. The caller must
 * know that the address is valid.
 */
public final class Memory {
  private static final MemorySegment ALL = MemorySegment.NULL.reinterpret(Long.MAX_VALUE);

  private static final VarHandle LONG =
      ValueLayout.JAVA_LONG_UNALIGNED.varHandle().withInvokeExactBehavior();
  private static final VarHandle INT =
      ValueLayout.JAVA_INT_UNALIGNED.varHandle().withInvokeExactBehavior();
  private static final VarHandle SHORT =
      ValueLayout.JAVA_SHORT_UNALIGNED.varHandle().withInvokeExactBehavior();
  private static final VarHandle ALIGNED_LONG =
      ValueLayout.JAVA_LONG.varHandle().withInvokeExactBehavior();
  private static final VarHandle ALIGNED_INT =
      ValueLayout.JAVA_INT.varHandle().withInvokeExactBehavior();
  private static final VarHandle BYTE = ValueLayout.JAVA_BYTE.varHandle().withInvokeExactBehavior();

  private Memory() {}

  /** Returns the memory of a C object: bounded, not owned, valid as long as the object exists. */
  public static MemorySegment at(long address, long size) {
    if (address == 0) {
      throw new NullPointerException("NULL pointer returned instead of an object");
    }
    return MemorySegment.ofAddress(address).reinterpret(size);
  }

  /** Returns the memory of a C object, valid as long as an arena is open. */
  public static MemorySegment at(long address, long size, Arena arena) {
    return at(address, size).reinterpret(arena, null);
  }

  /**
   * Returns whether memory is freed by closing an arena, and not by the garbage collector or never.
   * Only the class of a scope shows it: an automatic arena has no method that does, except {@code
   * close}, which throws.
   */
  public static boolean isClosable(MemorySegment.Scope scope) {
    return isShared(scope) || scope.getClass() == Scopes.CONFINED;
  }

  /** Returns whether a scope is that of a shared arena. */
  public static boolean isShared(MemorySegment.Scope scope) {
    return scope.getClass() == Scopes.SHARED;
  }

  private static final class Scopes {
    static final Class<?> CONFINED;
    static final Class<?> SHARED;

    static {
      try (Arena confined = Arena.ofConfined();
          Arena shared = Arena.ofShared()) {
        CONFINED = confined.scope().getClass();
        SHARED = shared.scope().getClass();
      }
    }
  }

  /** Returns the page size. */
  public static long pageSize() {
    return Libc.pageSize();
  }

  /**
   * Runs an action when the arena of a scope is closed, before the memory is freed that it has
   * allocated so far; only the first allocation of a confined arena is freed before. If the action
   * throws an {@link Error}, what is not freed yet stays allocated.
   *
   * @throws IllegalStateException if the arena is closed
   */
  public static void beforeFree(MemorySegment.Scope scope, Runnable action) {
    MemorySegment unused;
    try {
      unused = MemorySegment.NULL.reinterpret(new OfScope(scope), segment -> action.run());
    } catch (IllegalStateException e) {
      throw new IllegalStateException("the arena of the memory is closed", e);
    }
    assert unused.address() == 0;
  }

  /** The arena of a scope, as far as {@link MemorySegment#reinterpret} uses it. */
  private record OfScope(MemorySegment.Scope scope) implements Arena {
    @Override
    public MemorySegment allocate(long size, long alignment) {
      throw new UnsupportedOperationException();
    }

    @Override
    public void close() {
      throw new UnsupportedOperationException();
    }
  }

  /**
   * Returns the {@code ibv_context} of a C object, to which its first field points.
   *
   * @throws NullPointerException if there is no object
   */
  public static long contextOf(long object) {
    return getLong(notNull(object));
  }

  /** Returns the address of a C object; throws if it is NULL. */
  public static long notNull(long object) {
    if (object == 0) {
      throw new NullPointerException("NULL pointer passed instead of an object");
    }
    return object;
  }

  /** Reads a pointer or another 64-bit number. */
  public static long getLong(long address) {
    return (long) LONG.get(ALL, address);
  }

  /** Reads a 32-bit number. */
  public static int getInt(long address) {
    return (int) INT.get(ALL, address);
  }

  /** Reads a 16-bit number. */
  public static short getShort(long address) {
    return (short) SHORT.get(ALL, address);
  }

  /** Reads an 8-bit number. */
  public static byte getByte(long address) {
    return (byte) BYTE.get(ALL, address);
  }

  /** Writes a pointer or another 64-bit number. */
  public static void putLong(long address, long value) {
    LONG.set(ALL, address, value);
  }

  /** Writes a 32-bit number. */
  public static void putInt(long address, int value) {
    INT.set(ALL, address, value);
  }

  /** Writes a 16-bit number. */
  public static void putShort(long address, short value) {
    SHORT.set(ALL, address, value);
  }

  /** Writes an 8-bit number. */
  public static void putByte(long address, byte value) {
    BYTE.set(ALL, address, value);
  }

  // Opaque accesses are one instruction each, which no compiler omits, repeats or moves past
  // another.

  /** Reads an 8-bit number that a device writes. */
  public static byte getByteOpaque(long address) {
    return (byte) BYTE.getOpaque(ALL, address);
  }

  /** Writes an aligned 32-bit number that a device reads. */
  public static void putIntOpaque(long address, int value) {
    ALIGNED_INT.setOpaque(ALL, address, value);
  }

  /**
   * Writes an aligned 32-bit number that a device reads, by an instruction that is a full fence,
   * and that no compiler omits for another one.
   */
  public static void exchangeInt(long address, int value) {
    int _ = (int) ALIGNED_INT.getAndSet(ALL, address, value);
  }

  /** Writes an aligned 64-bit number that a device reads. */
  public static void putLongOpaque(long address, long value) {
    ALIGNED_LONG.setOpaque(ALL, address, value);
  }

  /** Copies bytes. */
  public static void copy(long from, long to, long length) {
    MemorySegment.copy(ALL, from, ALL, to, length);
  }

  /** Copies bytes from a segment. */
  public static void copy(MemorySegment from, long offset, long to, long length) {
    MemorySegment.copy(from, offset, ALL, to, length);
  }

  /** Copies bytes to a segment. */
  public static void copy(long from, MemorySegment to, long offset, long length) {
    MemorySegment.copy(ALL, from, to, offset, length);
  }

  /** Reads a C string, or null for NULL. */
  public static String string(long address) {
    return address == 0
        ? null
        : MemorySegment.ofAddress(address).reinterpret(Long.MAX_VALUE).getString(0);
  }

  /**
   * Reads a function pointer, which is about to be called.
   *
   * @throws VerbsException EOPNOTSUPP if the provider left it NULL
   */
  public static MemorySegment function(long address, String function) {
    StackSpace.requireForCall();
    MemorySegment pointer = ALL.get(ADDRESS, address);
    if (pointer.address() == 0) {
      throw new VerbsException(
          function, Errno.EOPNOTSUPP, "the device's provider does not implement it");
    }
    return pointer;
  }
}
