package dev.verbena.messages;

import dev.verbena.cm.ConnectionId;
import dev.verbena.internal.life.Core;
import dev.verbena.values.AccessFlag;
import dev.verbena.verbs.MemoryRegion;
import dev.verbena.verbs.ProtectionDomain;
import dev.verbena.verbs.ReceiveList;
import java.lang.foreign.MemorySegment;

/**
 * Registered memory for a number of messages of one maximum size, each of which begins at an offset
 * that is a multiple of 8, and for a 64-bit number behind them.
 */
final class MessageSlots {
  private final MemoryRegion region;
  private final int count;
  private final long stride;
  private final int size;

  /** Allocates the memory, which is freed when the domain is closed. */
  MessageSlots(ProtectionDomain domain, int count, int size) {
    this.count = count;
    this.size = size;
    this.stride = (size + 7L) & -8L;
    this.region = domain.allocateMemory(stride * count + Long.BYTES, AccessFlag.LOCAL_WRITE);
  }

  /** Frees the memory when an identifier is closed, too: the domain may be that of the program. */
  MessageSlots closedWith(ConnectionId id) {
    Core.of(region).closeWith(id);
    return this;
  }

  /** Returns a receive request for each message, whose id is its number. */
  ReceiveList receives() {
    ReceiveList receives = new ReceiveList(count, 1);
    for (int i = 0; i < count; i++) {
      receives.id(i, i);
      receives.local(i, region, offset(i), stride);
    }
    return receives;
  }

  MemoryRegion region() {
    return region;
  }

  int size() {
    return size;
  }

  /** Returns the offset of a slot in the region. */
  long offset(int slot) {
    return slot * stride;
  }

  /** Returns the offset of the number behind the messages. */
  long numberOffset() {
    return count * stride;
  }

  /** Copies a message to a slot. */
  void put(int slot, MemorySegment message) {
    MemorySegment target = slice(slot, message.byteSize());
    try {
      target.copyFrom(message);
    } catch (IllegalStateException e) {
      // If another thread has closed the region meanwhile, this names it.
      MemorySegment _ = region.memory();
      throw e;
    }
  }

  /** Returns the first bytes of a slot. */
  MemorySegment slice(int slot, long length) {
    return region.memory().asSlice(offset(slot), length);
  }
}
