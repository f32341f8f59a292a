package dev.verbena.soft.wire;

/**
 * Opcodes of the base transport header (BTH): the transport in the upper three bits, the operation
 * in the lower five.
 */
public final class Opcode {
  public static final int RC = 0x00;
  public static final int UC = 0x20;
  public static final int UD = 0x60;
  public static final int XRC = 0xa0;

  /**
   * SRD between software devices, in the range that the specification leaves to manufacturers: not
   * what Amazon's EFA sends.
   */
  public static final int SRD = 0xc0;

  /**
   * DC between software devices, in the same range: the format of mlx5's packets is not published.
   */
  public static final int DC = 0xe0;

  /** No opcode, which has eight bits: an Ethernet frame of a raw packet queue pair. */
  public static final int RAW = 0x100;

  public static final int SEND_FIRST = 0x00;
  public static final int SEND_MIDDLE = 0x01;
  public static final int SEND_LAST = 0x02;
  public static final int SEND_LAST_IMM = 0x03;
  public static final int SEND_ONLY = 0x04;
  public static final int SEND_ONLY_IMM = 0x05;
  public static final int WRITE_FIRST = 0x06;
  public static final int WRITE_MIDDLE = 0x07;
  public static final int WRITE_LAST = 0x08;
  public static final int WRITE_LAST_IMM = 0x09;
  public static final int WRITE_ONLY = 0x0a;
  public static final int WRITE_ONLY_IMM = 0x0b;
  public static final int READ_REQUEST = 0x0c;
  public static final int READ_RESPONSE_FIRST = 0x0d;
  public static final int READ_RESPONSE_MIDDLE = 0x0e;
  public static final int READ_RESPONSE_LAST = 0x0f;
  public static final int READ_RESPONSE_ONLY = 0x10;
  public static final int ACKNOWLEDGE = 0x11;
  public static final int ATOMIC_ACKNOWLEDGE = 0x12;
  public static final int COMPARE_SWAP = 0x13;
  public static final int FETCH_ADD = 0x14;
  public static final int SEND_LAST_INVALIDATE = 0x16;
  public static final int SEND_ONLY_INVALIDATE = 0x17;
  public static final int FLUSH = 0x1c;
  public static final int ATOMIC_WRITE = 0x1d;

  private static final int OPERATION = 0x1f;

  private Opcode() {}

  public static int operation(int opcode) {
    return opcode & OPERATION;
  }

  public static int transport(int opcode) {
    return opcode & ~OPERATION;
  }

  /** Whether the packet goes from a responder to a requester. */
  public static boolean isResponse(int opcode) {
    int operation = operation(opcode);
    return operation >= READ_RESPONSE_FIRST && operation <= ATOMIC_ACKNOWLEDGE;
  }

  public static boolean isSend(int operation) {
    return operation <= SEND_ONLY_IMM
        || operation == SEND_LAST_INVALIDATE
        || operation == SEND_ONLY_INVALIDATE;
  }

  public static boolean isWrite(int operation) {
    return operation >= WRITE_FIRST && operation <= WRITE_ONLY_IMM;
  }

  /** Whether the request reads or writes a word of eight bytes at once. */
  public static boolean isWordOperation(int operation) {
    return operation == COMPARE_SWAP || operation == FETCH_ADD || operation == ATOMIC_WRITE;
  }

  /** Whether the packet begins a message: FIRST or ONLY, or a request of a single packet. */
  public static boolean begins(int operation) {
    return switch (operation) {
      case SEND_MIDDLE,
          SEND_LAST,
          SEND_LAST_IMM,
          SEND_LAST_INVALIDATE,
          WRITE_MIDDLE,
          WRITE_LAST,
          WRITE_LAST_IMM ->
          false;
      default -> true;
    };
  }

  /** Whether the packet ends a message. */
  public static boolean ends(int operation) {
    return switch (operation) {
      case SEND_FIRST, SEND_MIDDLE, WRITE_FIRST, WRITE_MIDDLE -> false;
      default -> true;
    };
  }

  /** Whether the packet carries an immediate (ImmDt). */
  public static boolean hasImmediate(int operation) {
    return switch (operation) {
      case SEND_LAST_IMM, SEND_ONLY_IMM, WRITE_LAST_IMM, WRITE_ONLY_IMM -> true;
      default -> false;
    };
  }

  /** Whether the packet carries a remote key to invalidate (IETH). */
  public static boolean invalidates(int operation) {
    return operation == SEND_LAST_INVALIDATE || operation == SEND_ONLY_INVALIDATE;
  }
}
