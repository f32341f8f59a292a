package dev.verbena.soft.device;

/** A work completion that waits to be polled. */
public final class Completion {
  public long wrId;
  public int status;
  public int opcode;
  public int length;

  /** Immediate data as it lies in memory, or an invalidated remote key. */
  public int immediate;

  public int flags;
  public int queuePair;
  public int sourceQueuePair;
  public int serviceLevel;
  public int pathBits;
  public long timestamp;
  public long wallClock;
  public int flowTag;
  public int vlanTag;
  public long tag;
  public int tagData;

  /** The queue pair of the completion, which discards it when it is destroyed. */
  public Object owner;

  public void clear() {
    wrId = 0;
    status = 0;
    opcode = 0;
    length = 0;
    immediate = 0;
    flags = 0;
    queuePair = 0;
    sourceQueuePair = 0;
    serviceLevel = 0;
    pathBits = 0;
    timestamp = 0;
    wallClock = 0;
    flowTag = 0;
    vlanTag = 0;
    tag = 0;
    tagData = 0;
    owner = null;
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
    serviceLevel = other.serviceLevel;
    pathBits = other.pathBits;
    timestamp = other.timestamp;
    wallClock = other.wallClock;
    flowTag = other.flowTag;
    vlanTag = other.vlanTag;
    tag = other.tag;
    tagData = other.tagData;
    owner = other.owner;
  }
}
