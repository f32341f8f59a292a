package dev.verbena.cm;

import dev.verbena.Errno;
import dev.verbena.VerbsException;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;

/** Bytes that go along with a connection request or its answer. */
final class PrivateData {
  static final byte[] NONE = {};

  /** What a length of one byte in C can say; each transport and message has a lower limit. */
  private static final int LONGEST = 255;

  private PrivateData() {}

  /** The bytes as C takes them, or NULL for none. */
  static MemorySegment write(byte[] bytes, Arena arena) {
    if (bytes.length > LONGEST) {
      throw new IllegalArgumentException(
          bytes.length + " bytes of private data; no transport takes more than " + LONGEST);
    }
    return bytes.length == 0
        ? MemorySegment.NULL
        : arena.allocateFrom(ValueLayout.JAVA_BYTE, bytes);
  }

  /** The errno of a refusal does not tell a wrong length from a wrong moment. */
  static VerbsException explain(VerbsException refusal, String doing, byte[] bytes) {
    boolean perhapsTooLong = refusal.errno() == Errno.EINVAL && bytes.length > 0;
    return refusal.explained(
        perhapsTooLong
            ? doing
                + "; are "
                + bytes.length
                + " bytes of private data more than the transport takes, or is it too early or too"
                + " late?"
            : doing);
  }
}
