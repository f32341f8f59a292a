package dev.verbena.sockets;

import dev.verbena.internal.foreign.AfterFailure;
import dev.verbena.internal.foreign.Memory;
import dev.verbena.internal.foreign.OwnMemory;
import dev.verbena.values.AccessFlag;
import dev.verbena.verbs.MemoryRegion;
import dev.verbena.verbs.ProtectionDomain;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.util.concurrent.atomic.AtomicReference;
import org.jspecify.annotations.Nullable;

/**
 * The registered memory of a stream. The peer can write to the receive buffer, to the table of
 * SGEs, which say where this end may write at the peer, and to the table of areas that the peer has
 * mapped; it cannot write to the send buffer.
 */
final class StreamMemory implements AutoCloseable {
  /** The bytes of an entry of the table of mapped areas: {@code struct rs_iomap}. */
  static final int AREA_SIZE = Long.BYTES + ConnectionData.SGE_SIZE;

  private static final long KEY = Long.BYTES;
  private static final long LENGTH = KEY + Integer.BYTES;
  private static final long ALIGNMENT = 64;

  private final Sizes sizes;
  private final long areas = ConnectionData.SGES * ConnectionData.SGE_SIZE;
  private final long received;
  private final AtomicReference<@Nullable OwnMemory> pages;
  private final MemorySegment remote;
  private final ByteBuffer sendBuffer;
  private final ByteBuffer receiveBuffer;
  private final MemoryRegion sendRegion;
  private final MemoryRegion remoteRegion;

  StreamMemory(ProtectionDomain domain, Sizes sizes) {
    this.sizes = sizes;
    received = Math.ceilDiv(areas + (long) sizes.areas() * AREA_SIZE, ALIGNMENT) * ALIGNMENT;
    long end = received + sizes.receiveBuffer();
    long sent = Math.ceilDiv(end, Memory.pageSize()) * Memory.pageSize();
    OwnMemory taken = RecycledMemory.OF_STREAMS.take(sent + areaPlace() + AREA_SIZE);
    pages = new AtomicReference<>(taken);
    remote = taken.segment().asSlice(0, end);
    remote.asSlice(0, received).fill((byte) 0); // The content of the buffers need not be zero.
    MemorySegment local = taken.segment().asSlice(sent);
    MemoryRegion[] regions = new MemoryRegion[2];
    try {
      regions[0] = domain.registerMemory(local);
      regions[1] = domain.registerMemory(remote, AccessFlag.LOCAL_WRITE, AccessFlag.REMOTE_WRITE);
    } catch (Throwable t) {
      AfterFailure.close(t, () -> close(regions[0], regions[1]));
      throw t;
    }
    sendRegion = regions[0];
    remoteRegion = regions[1];
    sendBuffer = local.asByteBuffer().order(ByteOrder.nativeOrder());
    receiveBuffer = remote.asSlice(received).asByteBuffer();
  }

  /** Returns what the peer is told of this memory. */
  ConnectionData describe() {
    return new ConnectionData(
        ByteOrder.nativeOrder() == ByteOrder.BIG_ENDIAN,
        sizes.receives(),
        sizes.areas(),
        new ConnectionData.RemoteMemory(
            remoteRegion.start(), remoteRegion.rkey(), ConnectionData.SGES),
        new ConnectionData.RemoteMemory(ringAddress(0), ringKey(), sizes.receiveBuffer()));
  }

  /** Returns the address by which the peer writes to a position of the receive buffer. */
  long ringAddress(int offset) {
    return remoteRegion.start() + received + offset;
  }

  /** Returns the key by which the peer writes to the receive buffer. */
  int ringKey() {
    return remoteRegion.rkey();
  }

  /** Returns the offset of the memory for an entry of the peer's table of areas. */
  int areaPlace() {
    return sizes.sendBuffer() + Sizes.CONTROL_MESSAGES * ConnectionData.SGE_SIZE;
  }

  /** Returns the send buffer, and behind it the memory of control messages, and of an area. */
  ByteBuffer sendBuffer() {
    return sendBuffer;
  }

  /** Returns the region of the send buffer, at the same offsets. */
  MemoryRegion sendRegion() {
    return sendRegion;
  }

  ByteBuffer receiveBuffer() {
    return receiveBuffer;
  }

  /**
   * Takes an SGE that the peer has written, and clears it.
   *
   * @return whether there was one
   */
  boolean take(int index, Target target) {
    long at = (long) index * ConnectionData.SGE_SIZE;
    int length = remote.get(ValueLayout.JAVA_INT, at + LENGTH);
    if (length == 0) {
      return false;
    }
    target.set(
        remote.get(ValueLayout.JAVA_LONG, at), remote.get(ValueLayout.JAVA_INT, at + KEY), length);
    remote.set(ValueLayout.JAVA_INT, at + LENGTH, 0);
    return true;
  }

  /** Finds the mapped area of the peer that has an offset; returns whether there is one. */
  boolean find(long offset, Target target) {
    for (int i = 0; i < sizes.areas(); i++) {
      long at = areas + (long) i * AREA_SIZE;
      long start = remote.get(ValueLayout.JAVA_LONG, at);
      long length =
          Integer.toUnsignedLong(
              remote.get(ValueLayout.JAVA_INT, at + Long.BYTES + LENGTH)); // Read once.
      long inside = offset - start;
      if (start >= 0 && inside >= 0 && inside < length) {
        target.set(
            remote.get(ValueLayout.JAVA_LONG, at + Long.BYTES) + inside,
            remote.get(ValueLayout.JAVA_INT, at + Long.BYTES + KEY),
            (int) Math.min(Integer.MAX_VALUE, length - inside));
        return true;
      }
    }
    return false;
  }

  @Override
  public void close() {
    close(sendRegion, remoteRegion);
  }

  /** Releases the memory, once, unless a region of it remains open. */
  private void close(@Nullable MemoryRegion local, @Nullable MemoryRegion remote) {
    try (local) { // Each, whether the other one can be closed or not.
      if (remote != null) {
        remote.close();
      }
    }
    OwnMemory closed = pages.getAndSet(null);
    if (closed != null) {
      RecycledMemory.OF_STREAMS.release(closed);
    }
  }

  /** Memory of the peer that this end may write to. */
  static final class Target {
    private long address;
    private int key;
    private long length;

    /** Sets the target; the length is unsigned. */
    void set(long newAddress, int newKey, int newLength) {
      address = newAddress;
      key = newKey;
      length = Integer.toUnsignedLong(newLength);
    }

    long address() {
      return address;
    }

    int key() {
      return key;
    }

    /** Returns the number of bytes that may still be written. */
    long length() {
      return length;
    }

    /** Accounts for bytes that are being written. */
    void advance(int bytes) {
      address += bytes;
      length -= bytes;
    }
  }
}
