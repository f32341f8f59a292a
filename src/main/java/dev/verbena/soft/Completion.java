package dev.verbena.soft;

/** A work completion that waits to be polled. */
final class Completion {
  long wrId;
  int status;
  int opcode;
  int length;

  /** Immediate data as it lies in memory, or an invalidated remote key. */
  int immediate;

  int flags;
  int queuePair;
  int sourceQueuePair;
  int serviceLevel;
  int pathBits;
  long timestamp;
  long wallClock;
  int flowTag;
  int vlanTag;
  long tag;
  int tagData;

  /** The queue pair of the completion, which discards it when it is destroyed. */
  Object owner;

  void clear() {
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
