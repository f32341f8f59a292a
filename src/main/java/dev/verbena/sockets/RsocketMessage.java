package dev.verbena.sockets;

/**
 * The messages of rsockets: the immediate data has the operation in the upper 3 bits, and its value
 * in the others.
 */
final class RsocketMessage {
  // The operations.
  static final int DATA = 0;
  static final int MAPPED_WRITE = 2; // Is not transmitted.
  static final int GRANT = 4;
  static final int AREA = 6;
  static final int CONTROL = 7;

  // The values of a control message.
  static final int DISCONNECT = 0;
  static final int KEEPALIVE = 1;
  static final int SHUTDOWN = 2;

  private static final int OPERATION_SHIFT = 29;
  private static final int VALUE_MASK = (1 << OPERATION_SHIFT) - 1;

  private RsocketMessage() {}

  static int of(int operation, int value) {
    return operation << OPERATION_SHIFT | value;
  }

  static int operation(int message) {
    return message >>> OPERATION_SHIFT;
  }

  static int value(int message) {
    return message & VALUE_MASK;
  }
}
