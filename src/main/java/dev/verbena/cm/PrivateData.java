package dev.verbena.cm;

import dev.verbena.Errno;
import dev.verbena.VerbsException;
import dev.verbena.internal.Explanation;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;

/** The private data of a connection request or response. */
final class PrivateData {
  static final byte[] NONE = {};

  /** The maximum of the 8-bit length field in C; each transport and message has a lower limit. */
  private static final int LONGEST = 255;

  private PrivateData() {}

  /** Copies the bytes to native memory; returns NULL for none. */
  static MemorySegment write(byte[] bytes, Arena arena) {
    if (bytes.length > LONGEST) {
      throw new IllegalArgumentException(
          bytes.length + " bytes of private data exceed the maximum of all transports: " + LONGEST);
    }
    return bytes.length == 0
        ? MemorySegment.NULL
        : arena.allocateFrom(ValueLayout.JAVA_BYTE, bytes);
  }

  /** Explains a failure: the errno is the same for a wrong length and a wrong state. */
  static VerbsException explain(VerbsException failure, String doing, byte[] bytes) {
    boolean perhapsTooLong = failure.errno() == Errno.EINVAL && bytes.length > 0;
    return Explanation.add(
        failure,
        perhapsTooLong
            ? "%s; the %s bytes of private data exceed the limit of the transport, or the identifier is in the wrong state"
                .formatted(doing, bytes.length)
            : doing);
  }
}
