package dev.verbena.soft.device;

import org.jspecify.annotations.Nullable;

/** A work completion that waits to be polled. */
public final class Completion {
  private static final Completion EMPTY = new Completion();

  public long wrId;
  public int status;
  public int opcode;
  public int length;

  /** Immediate data as it lies in memory, or an invalidated remote key. */
  public int immediate;

  public int flags;
  public int queuePair;
  public int sourceQueuePair;

  /** On EFA the number of the address handle for the sender, 0xffff if there is none. */
  public int sourceLid;

  /** The GID of the sender. */
  public long sourceGidHigh;

  public long sourceGidLow;

  /** Whether it is that of an RDMA write that consumed no receive request. */
  public boolean unsolicited;

  public int serviceLevel;
  public int pathBits;
  public long timestamp;
  public long wallClock;
  public int flowTag;
  public int vlanTag;
  public long tag;
  public int tagData;

  /** The queue pair of the completion, which discards it when it is destroyed. */
  public @Nullable Object owner;

  /** Where the request has a slot, or null; and its position there. */
  public @Nullable Slots slots;

  public long position;

  /** The data of the message; null if it is in memory. */
  public @Nullable LateData late;

  /** Makes it a completion of a queue pair or work queue, of which only this is known. */
  public void begin(Object newOwner, int number, int newOpcode) {
    copyOf(EMPTY);
    owner = newOwner;
    queuePair = number;
    opcode = newOpcode;
  }

  /** Makes it the completion of a receive request. */
  public void begin(Object newOwner, int number, int newOpcode, ReceiveRequest request) {
    begin(newOwner, number, newOpcode);
    wrId = request.wrId;
    slots = request.slots;
  }

  /** The program has it, or it is discarded. */
  void freeSlot() {
    if (slots != null) {
      slots.free(position);
    }
  }

  void copyOf(Completion other) {
    wrId = other.wrId;
    status = other.status;
    opcode = other.opcode;
    length = other.length;
    immediate = other.immediate;
    flags = other.flags;
    queuePair = other.queuePair;
    sourceQueuePair = other.sourceQueuePair;
    sourceLid = other.sourceLid;
    sourceGidHigh = other.sourceGidHigh;
    sourceGidLow = other.sourceGidLow;
    unsolicited = other.unsolicited;
    serviceLevel = other.serviceLevel;
    pathBits = other.pathBits;
    timestamp = other.timestamp;
    wallClock = other.wallClock;
    flowTag = other.flowTag;
    vlanTag = other.vlanTag;
    tag = other.tag;
    tagData = other.tagData;
    owner = other.owner;
    slots = other.slots;
    position = other.position;
    late = other.late;
  }
}
