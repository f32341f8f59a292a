package dev.verbena.soft.device;

import dev.verbena.internal.foreign.Memory;
import dev.verbena.internal.foreign.ProcessMemory;
import dev.verbena.soft.wire.HeldMemory;
import dev.verbena.soft.wire.Packet;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.invoke.VarHandle;
import java.lang.ref.WeakReference;
import org.jspecify.annotations.Nullable;

/**
 * The memory that a local or remote key identifies, of a memory region or of a bound memory window:
 * a range of addresses of a protection domain, and the allowed access.
 *
 * <p>Memory of a shared arena is accessed through its segment, which throws when the arena was
 * closed. All other memory is copied by the kernel, which reports an error where it is no longer
 * mapped, if its arena is open.
 */
public final class MemoryKey implements HeldMemory {
  /** What a key is for. A region has one of each; a bound memory window has a remote key. */
  public enum Use {
    /** In the SGEs of work requests of the own device. */
    LOCAL,
    /** In requests of a peer. */
    REMOTE
  }

  private final Use use;
  public final int key;
  final SoftDomain domain;

  /** The first address of the range. */
  public final long start;

  public final long length;

  /** The address of the memory of the first address of the range. */
  public final long memory;

  public final int access;

  /** The queue pair that alone may use it (memory window of type 2), or null. */
  public final @Nullable SoftObject owner;

  /** Whether SEND with invalidate and local invalidate apply to it. */
  public final @Nullable SoftWindow window;

  /** Whether it is a null region: reads give zeros, writes are discarded. */
  final boolean isNull;

  private final ProcessMemory process;

  /**
   * The segment of the memory, or null. It is kept by the region in {@code dev.verbena.verbs}: kept
   * here, an arena that closes the region would never be found to be leaked.
   */
  private @Nullable WeakReference<MemorySegment> segment;

  /** The scope of other memory, which says whether its arena is open, or null. */
  private WeakReference<MemorySegment.Scope> scope;

  public MemoryKey(
      Use use,
      int key,
      SoftDomain domain,
      long start,
      long length,
      long memory,
      int access,
      @Nullable SoftObject owner,
      @Nullable SoftWindow window,
      boolean isNull) {
    this.use = use;
    this.key = key;
    this.domain = domain;
    this.start = start;
    this.length = length;
    this.memory = memory;
    this.access = access;
    this.owner = owner;
    this.window = window;
    this.isNull = isNull;
    process = domain.device.memory;
  }

  /** Whether a range of addresses lies within it. */
  public boolean covers(long address, long size) {
    long offset = address - start;
    return isNull || (offset >= 0 && size >= 0 && size <= length && offset <= length - size);
  }

  /** Whether all of some access flags are allowed. */
  public boolean allows(int wanted) {
    return isNull || (access & wanted) == wanted;
  }

  /** Where the memory of an address is. */
  public long at(long address) {
    return memory + (address - start);
  }

  /**
   * Accesses the memory through its segment from now on, if that is safe: not a segment of the
   * global scope, which C code may have allocated and may free; not a mapped file, which may be
   * truncated.
   */
  void hold(MemorySegment memorySegment) {
    long offset = memory - memorySegment.address();
    boolean contains =
        memorySegment.isNative() && offset >= 0 && offset + length <= memorySegment.byteSize();
    boolean safe =
        contains
            && !memorySegment.isReadOnly()
            && !memorySegment.isMapped()
            && !memorySegment.scope().equals(Arena.global().scope())
            && domain.device.engine.canAccess(memorySegment);
    segment = safe ? new WeakReference<>(memorySegment) : null;
    scope = contains && !safe ? new WeakReference<>(memorySegment.scope()) : null;
  }

  /** Accesses the memory of a window as that of its region. */
  public MemoryKey heldAs(MemoryKey region) {
    segment = region.segment;
    scope = region.scope;
    return this;
  }

  private @Nullable MemorySegment segment() {
    return segment == null ? null : segment.get();
  }

  /** Whether the memory is accessed through a segment whose arena is open. */
  @Override
  public boolean isHeld() {
    MemorySegment held = segment();
    return held != null && held.scope().isAlive();
  }

  /** Copies between memory that is not accessed through a segment and a buffer. */
  private boolean copyUnheld(long from, long to, long size) {
    if (scope != null) {
      MemorySegment.Scope own = scope.get();
      if (own == null || !own.isAlive()) {
        return false;
      }
    }
    return process.copy(from, to, size);
  }

  /**
   * Copies from the memory to a buffer.
   *
   * @return false if a part of the memory no longer exists
   */
  public boolean read(long address, long buffer, long size) {
    if (isNull) {
      Memory.at(buffer, size).fill((byte) 0);
      return true;
    }
    long at = at(address);
    if (segment == null) {
      return copyUnheld(at, buffer, size);
    }
    MemorySegment held = segment();
    if (held == null) {
      return false; // Freed with a context that was never closed.
    }
    try {
      Memory.copy(held, at - held.address(), buffer, size);
      return true;
    } catch (IllegalStateException closed) {
      return false;
    }
  }

  /**
   * Copies from a buffer to the memory, after what was written before: a program may poll memory,
   * and reads it without the lock of the network.
   *
   * @return false if a part of the memory no longer exists
   */
  public boolean write(long buffer, long address, long size) {
    if (isNull) {
      return true;
    }
    VarHandle.releaseFence();
    long at = at(address);
    if (segment == null) {
      return copyUnheld(buffer, at, size);
    }
    MemorySegment held = segment();
    if (held == null) {
      return false;
    }
    try {
      Memory.copy(buffer, held, at - held.address(), size);
      return true;
    } catch (IllegalStateException closed) {
      return false;
    }
  }

  /**
   * Copies from other memory to this one, if both are accessed through segments.
   *
   * @return false if they are not, or no longer exist
   */
  private boolean write(MemoryKey from, long fromAddress, long address, long size) {
    MemorySegment source = from.segment();
    MemorySegment held = segment();
    if (source == null || held == null) {
      return false;
    }
    VarHandle.releaseFence();
    try {
      MemorySegment.copy(
          source,
          from.at(fromAddress) - source.address(),
          held,
          at(address) - held.address(),
          size);
      return true;
    } catch (IllegalStateException closed) {
      return false;
    }
  }

  /**
   * Writes the payload of a packet to the memory.
   *
   * @return false if a part of the memory no longer exists
   */
  public boolean write(Packet packet, long address) {
    return packet.from instanceof MemoryKey from
        ? write(from, packet.fromAddress, address, packet.length)
            || (from.read(packet.fromAddress, packet.payload, packet.length)
                && write(packet.payload, address, packet.length))
        : write(packet.payload, address, packet.length);
  }

  /** Whether it serves local work requests of a domain. */
  boolean isLocalTo(SoftDomain other, int wanted) {
    return use == Use.LOCAL && domain.root() == other.root() && allows(wanted);
  }

  /** Whether it serves requests that a queue pair received for a domain. */
  public boolean serves(SoftDomain target, SoftObject queuePair, int wanted) {
    return use == Use.REMOTE
        && domain.root() == target.root()
        && (owner == null || owner.equals(queuePair))
        && allows(wanted);
  }
}
