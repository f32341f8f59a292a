package dev.verbena.cm;

import java.nio.ByteBuffer;
import java.util.Arrays;
import java.util.OptionalInt;

/**
 * The private data of a {@link Connection}'s request or acceptance: the user's bytes, and behind
 * them the message size and a mark, by which two connections of this library recognise each other.
 * Any other peer finds the user's bytes where it expects them.
 *
 * @param privateData the user's bytes
 * @param messageSize the size of the longest message that the sender of these bytes can receive;
 *     empty if the sender is no {@code Connection}
 */
record Greeting(byte[] privateData, OptionalInt messageSize) {
  /** How many bytes are appended to the user's. */
  static final int SIZE = 2 * Integer.BYTES;

  /** "Vbn", and the version of what goes before it; not 0, which transports append. */
  private static final int MARK = 0x56626e01;

  /** The bytes to be sent. */
  static byte[] of(byte[] privateData, int messageSize) {
    return ByteBuffer.allocate(privateData.length + SIZE)
        .put(privateData)
        .putInt(messageSize)
        .putInt(MARK)
        .array();
  }

  /** What a peer sent: some transports append zeros. */
  static Greeting read(byte[] received) {
    int length = received.length;
    while (length > 0 && received[length - 1] == 0) {
      length--;
    }
    int end = length - SIZE;
    if (end < 0) {
      return new Greeting(received, OptionalInt.empty());
    }
    ByteBuffer appended = ByteBuffer.wrap(received, end, SIZE);
    int messageSize = appended.getInt();
    return appended.getInt() == MARK && messageSize > 0
        ? new Greeting(Arrays.copyOf(received, end), OptionalInt.of(messageSize))
        : new Greeting(received, OptionalInt.empty());
  }
}
