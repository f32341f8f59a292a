package dev.verbena.soft.device;

import dev.verbena.internal.foreign.Memory;
import dev.verbena.raw.rdma_h;
import dev.verbena.soft.wire.Packet;
import java.util.ArrayList;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * The tagged buffers of a shared receive queue with tag matching (TM-SRQ). Used under the network's
 * lock.
 *
 * <p>A message that matches no tag is unexpected. Tags that are added then match nothing until the
 * program has reported that it handled as many unexpected messages as arrived.
 */
public final class TagList {
  public static final int MAX_TAGS = 1024;

  /** The tag matching header (TMH): operation, 3 unused bytes, user data, tag. */
  public static final int HEADER = 16;

  private static final int EAGER = 3;
  private static final int RENDEZVOUS = 1;
  private static final int NO_TAG = 0;
  private static final int DATA = 4;
  private static final int TAG = 8;

  private final int capacity;
  private final List<Tagged> tags = new ArrayList<>();
  private int nextHandle = 1;
  private int unexpected;
  private int handled;

  /** A tagged buffer. */
  public static final class Tagged {
    final int handle;
    final long tag;
    final long mask;
    public final long receiveId;
    public final ScatterList elements;
    private boolean enabled;

    Tagged(int handle, long tag, long mask, long receiveId, ScatterList elements) {
      this.handle = handle;
      this.tag = tag;
      this.mask = mask;
      this.receiveId = receiveId;
      this.elements = elements;
    }
  }

  public TagList(int capacity) {
    this.capacity = capacity;
  }

  public boolean isFull() {
    return tags.size() == capacity;
  }

  /** Adds a tagged buffer; the result is its handle. */
  public int add(long tag, long mask, long receiveId, ScatterList elements) {
    Tagged added = new Tagged(nextHandle++, tag, mask, receiveId, elements);
    added.enabled = isSynchronized();
    tags.add(added);
    return added.handle;
  }

  /** Removes a tagged buffer; false if it is gone. */
  public boolean remove(int handle) {
    return tags.removeIf(tag -> tag.handle == handle);
  }

  /** The program has handled so many unexpected messages. */
  public void handled(int count) {
    handled = count;
    if (isSynchronized()) {
      tags.forEach(tag -> tag.enabled = true);
    }
  }

  private boolean isSynchronized() {
    return unexpected == handled;
  }

  /** The flags of completions: whether the program is to report what it handled. */
  public int flags() {
    return isSynchronized() ? 0 : rdma_h.IBV_WC_TM_SYNC_REQ();
  }

  /** Whether a buffer matches the first packet of a message. */
  public boolean matches(Packet packet) {
    return find(packet) != null;
  }

  private @Nullable Tagged find(Packet packet) {
    for (int i = 0; i < tags.size() && operation(packet) == EAGER; i++) {
      Tagged tagged = tags.get(i);
      if (tagged.enabled && (tag(packet) & tagged.mask) == tagged.tag) {
        return tagged;
      }
    }
    return null;
  }

  /** Takes the oldest buffer that matches a message; null if none does, and it is unexpected. */
  public @Nullable Tagged match(Packet packet) {
    Tagged found = find(packet);
    int operation = operation(packet);
    if (found != null) {
      tags.remove(found);
    } else if (operation == EAGER || operation == RENDEZVOUS) {
      unexpected++;
    }
    return found;
  }

  private static int operation(Packet packet) {
    return packet.length < HEADER ? NO_TAG : Memory.getByte(packet.payload);
  }

  /** The completion opcode of a message that matched no tag. */
  public static int unmatchedOpcode(Packet packet) {
    return operation(packet) == NO_TAG ? rdma_h.IBV_WC_TM_NO_TAG() : rdma_h.IBV_WC_RECV();
  }

  /** The tag of a message, or 0. */
  public static long tag(Packet packet) {
    return operation(packet) == NO_TAG
        ? 0
        : Long.reverseBytes(Memory.getLong(packet.payload + TAG));
  }

  /** The user data of the header of a message, or 0. */
  public static int data(Packet packet) {
    return operation(packet) == NO_TAG
        ? 0
        : Integer.reverseBytes(Memory.getInt(packet.payload + DATA));
  }
}
