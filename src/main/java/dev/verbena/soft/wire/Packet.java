package dev.verbena.soft.wire;

import dev.verbena.internal.foreign.Memory;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import org.jspecify.annotations.Nullable;

/**
 * A packet: the fields of the base transport header (BTH) and of all extension headers, and the
 * payload. Packets are reused: see {@link PacketPool}.
 */
public final class Packet {
  /** The largest payload: path MTU, or a raw frame. */
  public static final int CAPACITY = 9216;

  // Routing
  public long sourceGidHigh;
  public long sourceGidLow;
  public long destinationGidHigh;
  public long destinationGidLow;
  public int serviceLevel;
  public int flowLabel;
  public int hopLimit;
  public int trafficClass;

  // BTH
  public int opcode;
  public int destination;
  public int psn;
  public boolean ackRequested;
  public boolean solicited;

  /** Whether a fault changed a bit of it: the ICRC no longer matches. */
  public boolean corrupt;

  // DETH
  public int queueKey;
  public int sourceNumber;

  // SRD, DC
  /**
   * Which requester's numbering the PSN belongs to: that of the queue pair, until it is reset; on
   * DC also until it sends to another target.
   */
  public long session;

  /** Where in the message the payload is, or the data that is to be read. */
  public int offset;

  // DC
  public long accessKey;

  /** The oldest PSN of the session that is not acknowledged. */
  public int oldestPsn;

  // XRCETH
  public int sharedQueue;

  // RETH
  public long address;
  public int remoteKey;
  public int dmaLength;

  // AtomicETH
  public long swapOrAdd;
  public long compare;

  // FETH
  public int flushType;
  public int flushLevel;

  // ImmDt, as it lies in memory; or IETH
  public int immediate;

  // AETH, AtomicAckETH
  public int syndrome;
  public int messageNumber;
  public long original;

  // Payload
  public final long payload;

  public int length;

  /** The memory of the sender that the payload is still in, at an address; null if it is not. */
  public @Nullable HeldMemory from;

  public long fromAddress;

  /** The next packet of the list that it is in. */
  @Nullable Packet next;

  @SuppressWarnings("unused") // Keeps the memory.
  private final MemorySegment memory;

  public Packet() {
    memory = Arena.ofAuto().allocate(CAPACITY, Long.BYTES);
    payload = memory.address();
  }

  /** Makes it a packet without extension headers and payload. */
  public Packet reset(int newOpcode, int newDestination, int newPsn) {
    opcode = newOpcode;
    destination = newDestination;
    psn = newPsn;
    ackRequested = false;
    solicited = false;
    corrupt = false;
    sharedQueue = 0;
    immediate = 0;
    length = 0;
    from = null;
    next = null;
    return this;
  }

  /** Makes it a copy of another. */
  public Packet copyOf(Packet other) {
    reset(other.opcode, other.destination, other.psn);
    sourceGidHigh = other.sourceGidHigh;
    sourceGidLow = other.sourceGidLow;
    destinationGidHigh = other.destinationGidHigh;
    destinationGidLow = other.destinationGidLow;
    serviceLevel = other.serviceLevel;
    flowLabel = other.flowLabel;
    hopLimit = other.hopLimit;
    trafficClass = other.trafficClass;
    ackRequested = other.ackRequested;
    solicited = other.solicited;
    corrupt = other.corrupt;
    queueKey = other.queueKey;
    sourceNumber = other.sourceNumber;
    session = other.session;
    offset = other.offset;
    accessKey = other.accessKey;
    oldestPsn = other.oldestPsn;
    sharedQueue = other.sharedQueue;
    address = other.address;
    remoteKey = other.remoteKey;
    dmaLength = other.dmaLength;
    swapOrAdd = other.swapOrAdd;
    compare = other.compare;
    flushType = other.flushType;
    flushLevel = other.flushLevel;
    immediate = other.immediate;
    syndrome = other.syndrome;
    messageNumber = other.messageNumber;
    original = other.original;
    length = other.length;
    from = other.from;
    fromAddress = other.fromAddress;
    if (length > 0 && from == null) {
      Memory.copy(other.payload, payload, length);
    }
    return this;
  }

  /** Whether the payload was to be read from memory that no longer exists. */
  public boolean isLost() {
    return from != null && !from.isHeld();
  }

  @Override
  public String toString() {
    return "packet opcode=0x%02x qpn=0x%06x psn=0x%06x length=%d"
        .formatted(opcode, destination, psn, length);
  }
}
