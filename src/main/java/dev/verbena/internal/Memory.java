package dev.verbena.internal;

import static java.lang.foreign.ValueLayout.ADDRESS;

import dev.verbena.Errno;
import dev.verbena.VerbsException;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.lang.invoke.VarHandle;
import java.util.Set;

/**
 * Memory that C owns or looks at, by address. The only place where an address becomes readable.
 *
 * <p>Numbers are read and written through constants alone, without a check of alignment or of a
 * segment's scope: C2 makes one move of each, which the data path counts on. Whoever passes an
 * address knows what is there.
 */
public final class Memory {
  private static final MemorySegment ALL = MemorySegment.NULL.reinterpret(Long.MAX_VALUE);

  private static final VarHandle LONG =
      ValueLayout.JAVA_LONG_UNALIGNED.varHandle().withInvokeExactBehavior();
  private static final VarHandle INT =
      ValueLayout.JAVA_INT_UNALIGNED.varHandle().withInvokeExactBehavior();
  private static final VarHandle SHORT =
      ValueLayout.JAVA_SHORT_UNALIGNED.varHandle().withInvokeExactBehavior();
  private static final VarHandle BYTE = ValueLayout.JAVA_BYTE.varHandle().withInvokeExactBehavior();

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

  /**
   * Whether memory is freed by closing an arena, not when nothing refers to it any more or never.
   * Only the class of a scope tells: no method of an automatic arena does, except its {@code
   * close}.
   */
  public static boolean isClosable(MemorySegment.Scope scope) {
    return Closable.SCOPES.contains(scope.getClass());
  }

  private static final class Closable {
    static final Set<Class<?>> SCOPES = scopes();

    private static Set<Class<?>> scopes() {
      try (Arena confined = Arena.ofConfined();
          Arena shared = Arena.ofShared()) {
        return Set.of(confined.scope().getClass(), shared.scope().getClass());
      }
    }
  }

  /** The size of a page of this system's memory. */
  public static long pageSize() {
    return Libc.pageSize();
  }

  /** Runs something when an arena is closed, before memory is freed that it allocated so far. */
  public static void beforeFree(Arena arena, Runnable action) {
    MemorySegment unused = MemorySegment.NULL.reinterpret(arena, segment -> action.run());
    assert unused.address() == 0;
  }

  /**
   * The {@code ibv_context} of a C object: what the object's first field points to.
   *
   * @throws NullPointerException if there is no object
   */
  static long contextOf(long object) {
    return getLong(notNull(object));
  }

  /** Passes on the address of a C object that must be there. */
  static long notNull(long object) {
    if (object == 0) {
      throw new NullPointerException("a NULL pointer where C needs an object");
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

  /** Copies bytes. */
  public static void copy(long from, long to, long length) {
    MemorySegment.copy(ALL, from, ALL, to, length);
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
