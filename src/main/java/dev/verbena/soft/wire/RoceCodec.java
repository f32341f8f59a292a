package dev.verbena.soft.wire;

import dev.verbena.internal.foreign.Memory;

/**
 * Packets as they are on the wire, from the base transport header (BTH) to the padding: what a UDP
 * datagram of RoCE v2 holds before its ICRC. Numbers are big-endian.
 */
public final class RoceCodec {
  /** The length of a BTH. */
  public static final int BTH = 12;

  /** The longest headers of a packet, those of a DC request and AtomicETH, and the padding. */
  static final int MAX_OVERHEAD = BTH + 52 + 3;

  /** Where the fields are that the ICRC does not cover: FECN, BECN and reserved bits. */
  static final int MASKED = 4;

  private static final int RETH = 16;
  private static final int AETH = 4;
  private static final int ATOMIC_ETH = 28;
  private static final int ATOMIC_ACK_ETH = 8;
  private static final int DETH = 8;
  private static final int SRD_ETH = 16;

  /** Of DC: the source and the session; in requests, the access key and the oldest PSN, too. */
  private static final int DC_ETH = 12;

  private static final int DC_REQUEST_ETH = DC_ETH + 12;
  private static final int WORD = 4;

  private static final int SOLICITED = 0x80;
  private static final int MIGRATED = 0x40;
  private static final int PAD = 0x30;
  private static final int PAD_SHIFT = 4;
  private static final int VERSION = 0xf;
  private static final int ACK_REQUESTED = 1 << 31;
  private static final int DEFAULT_PKEY = 0xffff;
  private static final int PKEY_NUMBER = 0x7fff;
  private static final int CONGESTION_NOTIFICATION = 0x81;

  private static final int FLUSH_LEVEL_SHIFT = 4;
  private static final int FLUSH_TYPE = 0xf;
  private static final int FLUSH_LEVEL = 0x3;

  private RoceCodec() {}

  /** The result of reading a datagram. */
  enum Result {
    /** A packet. */
    PACKET,
    /** A congestion notification packet, which needs no answer. */
    NOTIFICATION,
    /** No packet: too short for its opcode, or a field has a value that is not defined. */
    MALFORMED
  }

  /** The length of the extension headers of an opcode; -1 if the opcode is not defined. */
  public static int extensions(int opcode) {
    int transport = Opcode.transport(opcode);
    int operation = Opcode.operation(opcode);
    return switch (transport) {
      case Opcode.RC -> extensionsOf(operation);
      case Opcode.XRC -> {
        int length = extensionsOf(operation);
        yield length < 0 || Opcode.isResponse(operation) ? length : WORD + length;
      }
      case Opcode.UC -> operation <= Opcode.WRITE_ONLY_IMM ? extensionsOf(operation) : -1;
      case Opcode.UD ->
          switch (operation) {
            case Opcode.SEND_ONLY -> DETH;
            case Opcode.SEND_ONLY_IMM -> DETH + WORD;
            default -> -1;
          };
      case Opcode.SRD ->
          switch (operation) {
            case Opcode.SEND_ONLY,
                Opcode.SEND_ONLY_IMM,
                Opcode.WRITE_ONLY,
                Opcode.WRITE_ONLY_IMM,
                Opcode.READ_REQUEST,
                Opcode.READ_RESPONSE_ONLY,
                Opcode.ACKNOWLEDGE ->
                SRD_ETH + extensionsOf(operation);
            default -> -1;
          };
      case Opcode.DC -> {
        int length = operation < Opcode.FLUSH ? extensionsOf(operation) : -1;
        int own = Opcode.isResponse(operation) ? DC_ETH : DC_REQUEST_ETH;
        yield length < 0 ? length : own + length;
      }
      default -> -1;
    };
  }

  private static int extensionsOf(int operation) {
    return switch (operation) {
      case Opcode.SEND_FIRST,
          Opcode.SEND_MIDDLE,
          Opcode.SEND_LAST,
          Opcode.SEND_ONLY,
          Opcode.WRITE_MIDDLE,
          Opcode.WRITE_LAST,
          Opcode.READ_RESPONSE_MIDDLE ->
          0;
      case Opcode.SEND_LAST_IMM,
          Opcode.SEND_ONLY_IMM,
          Opcode.SEND_LAST_INVALIDATE,
          Opcode.SEND_ONLY_INVALIDATE,
          Opcode.WRITE_LAST_IMM ->
          WORD;
      case Opcode.WRITE_FIRST, Opcode.WRITE_ONLY, Opcode.READ_REQUEST, Opcode.ATOMIC_WRITE -> RETH;
      case Opcode.WRITE_ONLY_IMM, Opcode.FLUSH -> RETH + WORD;
      case Opcode.READ_RESPONSE_FIRST,
          Opcode.READ_RESPONSE_LAST,
          Opcode.READ_RESPONSE_ONLY,
          Opcode.ACKNOWLEDGE ->
          AETH;
      case Opcode.ATOMIC_ACKNOWLEDGE -> AETH + ATOMIC_ACK_ETH;
      case Opcode.COMPARE_SWAP, Opcode.FETCH_ADD -> ATOMIC_ETH;
      default -> -1;
    };
  }

  /** The length of a packet on the wire, without ICRC. */
  static int length(Packet packet) {
    return BTH + extensions(packet.opcode) + packet.length + padding(packet.length);
  }

  private static int padding(int length) {
    return -length & 3;
  }

  /**
   * Writes a packet.
   *
   * @param address where there is room for {@link #length}
   * @return the length
   */
  public static int write(Packet packet, long address) {
    int opcode = packet.opcode;
    int padding = padding(packet.length);
    int flags = MIGRATED | padding << PAD_SHIFT | (packet.solicited ? SOLICITED : 0);
    putInt(address, opcode << 24 | flags << 16 | DEFAULT_PKEY);
    putInt(address + 4, packet.destination & Psn.MASK);
    putInt(address + 8, (packet.ackRequested ? ACK_REQUESTED : 0) | (packet.psn & Psn.MASK));
    long at = writeExtensions(packet, address + BTH);
    if (packet.length > 0) {
      Memory.copy(packet.payload, at, packet.length);
      at += packet.length;
    }
    for (int i = 0; i < padding; i++) {
      Memory.putByte(at++, (byte) 0);
    }
    return (int) (at - address);
  }

  private static long writeExtensions(Packet packet, long address) {
    int operation = Opcode.operation(packet.opcode);
    int transport = Opcode.transport(packet.opcode);
    long at = address;
    if (transport == Opcode.UD) {
      putInt(at, packet.queueKey);
      putInt(at + 4, packet.sourceNumber & Psn.MASK);
      at += DETH;
    } else if (transport == Opcode.SRD) {
      putInt(at, packet.queueKey);
      putInt(at + 4, packet.sourceNumber & Psn.MASK);
      putInt(at + 8, (int) packet.session);
      putInt(at + 12, packet.offset);
      at += SRD_ETH;
    } else if (transport == Opcode.DC) {
      putInt(at, packet.sourceNumber & Psn.MASK);
      putLong(at + 4, packet.session);
      at += DC_ETH;
      if (!Opcode.isResponse(operation)) {
        putLong(at, packet.accessKey);
        putInt(at + 8, packet.oldestPsn & Psn.MASK);
        at += DC_REQUEST_ETH - DC_ETH;
      }
    } else if (transport == Opcode.XRC && !Opcode.isResponse(operation)) {
      putInt(at, packet.sharedQueue & Psn.MASK);
      at += WORD;
    }
    switch (operation) {
      case Opcode.WRITE_FIRST, Opcode.WRITE_ONLY, Opcode.READ_REQUEST, Opcode.ATOMIC_WRITE ->
          at = writeReth(packet, at);
      case Opcode.WRITE_ONLY_IMM -> {
        at = writeReth(packet, at);
        Memory.putInt(at, packet.immediate);
        at += WORD;
      }
      case Opcode.SEND_LAST_IMM, Opcode.SEND_ONLY_IMM, Opcode.WRITE_LAST_IMM -> {
        Memory.putInt(at, packet.immediate);
        at += WORD;
      }
      case Opcode.SEND_LAST_INVALIDATE, Opcode.SEND_ONLY_INVALIDATE -> {
        putInt(at, packet.immediate);
        at += WORD;
      }
      case Opcode.FLUSH -> {
        putInt(
            at,
            (packet.flushLevel & FLUSH_LEVEL) << FLUSH_LEVEL_SHIFT
                | (packet.flushType & FLUSH_TYPE));
        at = writeReth(packet, at + WORD);
      }
      case Opcode.COMPARE_SWAP, Opcode.FETCH_ADD -> {
        putLong(at, packet.address);
        putInt(at + 8, packet.remoteKey);
        putLong(at + 12, packet.swapOrAdd);
        putLong(at + 20, operation == Opcode.COMPARE_SWAP ? packet.compare : 0);
        at += ATOMIC_ETH;
      }
      case Opcode.READ_RESPONSE_FIRST,
          Opcode.READ_RESPONSE_LAST,
          Opcode.READ_RESPONSE_ONLY,
          Opcode.ACKNOWLEDGE -> {
        writeAeth(packet, at);
        at += AETH;
      }
      case Opcode.ATOMIC_ACKNOWLEDGE -> {
        writeAeth(packet, at);
        putLong(at + AETH, packet.original);
        at += AETH + ATOMIC_ACK_ETH;
      }
      default -> {}
    }
    return at;
  }

  private static long writeReth(Packet packet, long at) {
    putLong(at, packet.address);
    putInt(at + 8, packet.remoteKey);
    putInt(at + 12, packet.dmaLength);
    return at + RETH;
  }

  private static void writeAeth(Packet packet, long at) {
    putInt(at, packet.syndrome << 24 | (packet.messageNumber & Psn.MASK));
  }

  /**
   * Reads what {@link #write} writes, addresses excepted. Of the packet, only what its opcode has
   * is set; if the result is not {@link Result#PACKET}, its content is not defined.
   *
   * @param length how many bytes there are, of any content
   */
  static Result read(long address, int length, Packet into) {
    if (length < BTH) {
      return Result.MALFORMED;
    }
    int first = getInt(address);
    int opcode = first >>> 24;
    int flags = first >>> 16 & 0xff;
    if (opcode == CONGESTION_NOTIFICATION) {
      return Result.NOTIFICATION;
    }
    int extensions = extensions(opcode);
    int padding = (flags & PAD) >>> PAD_SHIFT;
    int payload = length - BTH - extensions - padding;
    if (extensions < 0
        || payload < 0
        || payload > Packet.CAPACITY
        || padding != padding(payload)
        || (flags & VERSION) != 0
        || (first & PKEY_NUMBER) != PKEY_NUMBER) {
      return Result.MALFORMED;
    }
    int last = getInt(address + 8);
    into.reset(opcode, getInt(address + 4) & Psn.MASK, last & Psn.MASK);
    into.solicited = (flags & SOLICITED) != 0;
    into.ackRequested = (last & ACK_REQUESTED) != 0;
    readExtensions(into, address + BTH);
    into.length = payload;
    if (payload > 0) {
      Memory.copy(address + BTH + extensions, into.payload, payload);
    }
    return Result.PACKET;
  }

  private static void readExtensions(Packet packet, long address) {
    int operation = Opcode.operation(packet.opcode);
    int transport = Opcode.transport(packet.opcode);
    long at = address;
    if (transport == Opcode.UD) {
      packet.queueKey = getInt(at);
      packet.sourceNumber = getInt(at + 4) & Psn.MASK;
      at += DETH;
    } else if (transport == Opcode.SRD) {
      packet.queueKey = getInt(at);
      packet.sourceNumber = getInt(at + 4) & Psn.MASK;
      packet.session = getInt(at + 8);
      packet.offset = getInt(at + 12);
      at += SRD_ETH;
    } else if (transport == Opcode.DC) {
      packet.sourceNumber = getInt(at) & Psn.MASK;
      packet.session = getLong(at + 4);
      at += DC_ETH;
      if (!Opcode.isResponse(operation)) {
        packet.accessKey = getLong(at);
        packet.oldestPsn = getInt(at + 8) & Psn.MASK;
        at += DC_REQUEST_ETH - DC_ETH;
      }
    } else if (transport == Opcode.XRC && !Opcode.isResponse(operation)) {
      packet.sharedQueue = getInt(at) & Psn.MASK;
      at += WORD;
    }
    switch (operation) {
      case Opcode.WRITE_FIRST, Opcode.WRITE_ONLY, Opcode.READ_REQUEST, Opcode.ATOMIC_WRITE ->
          readReth(packet, at);
      case Opcode.WRITE_ONLY_IMM -> {
        readReth(packet, at);
        packet.immediate = Memory.getInt(at + RETH);
      }
      case Opcode.SEND_LAST_IMM, Opcode.SEND_ONLY_IMM, Opcode.WRITE_LAST_IMM ->
          packet.immediate = Memory.getInt(at);
      case Opcode.SEND_LAST_INVALIDATE, Opcode.SEND_ONLY_INVALIDATE ->
          packet.immediate = getInt(at);
      case Opcode.FLUSH -> {
        int word = getInt(at);
        packet.flushLevel = word >>> FLUSH_LEVEL_SHIFT & FLUSH_LEVEL;
        packet.flushType = word & FLUSH_TYPE;
        readReth(packet, at + WORD);
      }
      case Opcode.COMPARE_SWAP, Opcode.FETCH_ADD -> {
        packet.address = getLong(at);
        packet.remoteKey = getInt(at + 8);
        packet.swapOrAdd = getLong(at + 12);
        packet.compare = getLong(at + 20);
      }
      case Opcode.READ_RESPONSE_FIRST,
          Opcode.READ_RESPONSE_LAST,
          Opcode.READ_RESPONSE_ONLY,
          Opcode.ACKNOWLEDGE ->
          readAeth(packet, at);
      case Opcode.ATOMIC_ACKNOWLEDGE -> {
        readAeth(packet, at);
        packet.original = getLong(at + AETH);
      }
      default -> {}
    }
  }

  private static void readReth(Packet packet, long at) {
    packet.address = getLong(at);
    packet.remoteKey = getInt(at + 8);
    packet.dmaLength = getInt(at + 12);
  }

  private static void readAeth(Packet packet, long at) {
    int aeth = getInt(at);
    packet.syndrome = aeth >>> 24;
    packet.messageNumber = aeth & Psn.MASK;
  }

  static void putInt(long address, int value) {
    Memory.putInt(address, Integer.reverseBytes(value));
  }

  static int getInt(long address) {
    return Integer.reverseBytes(Memory.getInt(address));
  }

  static void putLong(long address, long value) {
    Memory.putLong(address, Long.reverseBytes(value));
  }

  private static long getLong(long address) {
    return Long.reverseBytes(Memory.getLong(address));
  }
}
