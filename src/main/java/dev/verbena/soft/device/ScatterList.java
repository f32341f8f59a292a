package dev.verbena.soft.device;

import dev.verbena.internal.foreign.Memory;
import dev.verbena.raw.ibv_sge;
import dev.verbena.raw.rdma_h;
import dev.verbena.soft.wire.Packet;
import org.jspecify.annotations.Nullable;

/** The scatter/gather elements (SGE) of a work request, and copying to and from them. */
public final class ScatterList {
  private static final long ADDRESS = ibv_sge.addr$offset();
  private static final long LENGTH = ibv_sge.length$offset();
  private static final long KEY = ibv_sge.lkey$offset();
  private static final long SIZE = ibv_sge.sizeof();

  private final long[] addresses;
  private final int[] lengths;
  private final int[] keys;
  private int count;

  public ScatterList(int capacity) {
    addresses = new long[capacity];
    lengths = new int[capacity];
    keys = new int[capacity];
  }

  public void clear() {
    count = 0;
  }

  /** Reads elements from an array of {@code struct ibv_sge}. */
  public void read(long list, int number) {
    for (int i = 0; i < number; i++) {
      long sge = list + i * SIZE;
      addresses[i] = Memory.getLong(sge + ADDRESS);
      lengths[i] = Memory.getInt(sge + LENGTH);
      keys[i] = Memory.getInt(sge + KEY);
    }
    count = number;
  }

  public void copyOf(ScatterList other) {
    count = other.count;
    System.arraycopy(other.addresses, 0, addresses, 0, count);
    System.arraycopy(other.lengths, 0, lengths, 0, count);
    System.arraycopy(other.keys, 0, keys, 0, count);
  }

  public void add(long address, int length, int key) {
    addresses[count] = address;
    lengths[count] = length;
    keys[count] = key;
    count++;
  }

  public int capacity() {
    return keys.length;
  }

  /** The length of all elements; a length of 0 in an element means 0. */
  public long length() {
    long sum = 0;
    for (int i = 0; i < count; i++) {
      sum += Integer.toUnsignedLong(lengths[i]);
    }
    return sum;
  }

  /** Whether all keys are valid for a domain and an access. */
  public boolean isAllowed(SoftDomain domain, int access) {
    for (int i = 0; i < count; i++) {
      if (lengths[i] != 0 && find(domain, i, access) == null) {
        return false;
      }
    }
    return true;
  }

  private @Nullable MemoryKey find(SoftDomain domain, int i, int access) {
    MemoryKey key = domain.device.keys.get(keys[i]);
    return key != null
            && key.isLocalTo(domain, access)
            && key.covers(addresses[i], Integer.toUnsignedLong(lengths[i]))
        ? key
        : null;
  }

  /** Copies bytes, if there are any: the address after the copy. */
  public static long copy(long from, long to, int length) {
    if (length > 0) {
      Memory.copy(from, to, length);
    }
    return to + length;
  }

  /**
   * Copies inline data: all elements, whatever their keys, to a buffer that is large enough for
   * {@link #length}.
   */
  public void copyInline(long buffer) {
    long at = buffer;
    for (int i = 0; i < count; i++) {
      at = copy(addresses[i], at, lengths[i]);
    }
  }

  /** Copies a part of the message from memory to a buffer; false if that is not allowed. */
  public boolean gather(SoftDomain domain, long offset, long buffer, int length) {
    return copy(domain, offset, buffer, length, false);
  }

  /** Copies a part of the message from a buffer to memory; false if that is not allowed. */
  public boolean scatter(SoftDomain domain, long offset, long buffer, int length) {
    return copy(domain, offset, buffer, length, true);
  }

  /** Fills the memory with a byte, as far as that is allowed: its content is undefined for now. */
  public void fill(SoftDomain domain, byte value, Packet scratch) {
    Memory.at(scratch.payload, Packet.CAPACITY).fill(value);
    long length = length();
    for (long at = 0; at < length; at += Packet.CAPACITY) {
      if (!scatter(domain, at, scratch.payload, (int) Math.min(Packet.CAPACITY, length - at))) {
        return; // It is reported when the message is written.
      }
    }
  }

  /**
   * Has a packet refer to a part of the message instead of a copy, if the part lies in one element
   * and its memory can be accessed through a segment.
   */
  public boolean refer(SoftDomain domain, long offset, Packet packet) {
    long skip = offset;
    for (int i = 0; i < count; i++) {
      long size = Integer.toUnsignedLong(lengths[i]);
      if (skip < size) {
        MemoryKey key = size - skip < packet.length ? null : find(domain, i, 0);
        if (key == null || !key.isHeld()) {
          return false;
        }
        packet.from = key;
        packet.fromAddress = addresses[i] + skip;
        return true;
      }
      skip -= size;
    }
    return false;
  }

  private boolean copy(SoftDomain domain, long offset, long buffer, int length, boolean scatter) {
    int access = scatter ? rdma_h.IBV_ACCESS_LOCAL_WRITE() : 0;
    long skip = offset;
    int done = 0;
    for (int i = 0; i < count && done < length; i++) {
      long size = Integer.toUnsignedLong(lengths[i]);
      if (skip >= size) {
        skip -= size;
        continue;
      }
      MemoryKey key = find(domain, i, access);
      if (key == null) {
        return false;
      }
      int part = (int) Math.min(size - skip, length - done);
      long at = addresses[i] + skip;
      if (!(scatter ? key.write(buffer + done, at, part) : key.read(at, buffer + done, part))) {
        return false;
      }
      done += part;
      skip = 0;
    }
    return done == length;
  }
}
