package dev.verbena.messages;

import java.nio.ByteBuffer;
import java.util.Arrays;
import java.util.OptionalInt;

/**
 * The private data of a {@link Connection}'s request or acceptance: the user's data, followed by
 * the message size and a mark that identifies this library. Any other peer finds the user's data at
 * the expected place.
 *
 * @param privateData the user's data
 * @param messageSize the maximum size of a message that the sender can receive; empty if the sender
 *     is not a {@code Connection}
 */
record Greeting(byte[] privateData, OptionalInt messageSize) {
  /** The number of bytes appended to the user's data. */
  static final int SIZE = 2 * Integer.BYTES;

  /** "Vbn", and the version of the preceding format; not 0, with which transports pad. */
  private static final int MARK = 0x56626e01;

  /** Returns the bytes to send. */
  static byte[] of(byte[] privateData, int messageSize) {
    return ByteBuffer.allocate(privateData.length + SIZE)
        .put(privateData)
        .putInt(messageSize)
        .putInt(MARK)
        .array();
  }

  /** Parses private data; some transports pad it with zeros. */
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
