package dev.verbena.soft;

import dev.verbena.Errno;
import dev.verbena.VerbsException;
import java.util.Locale;

/** An object of a software device, and the C struct by whose address the seam refers to it. */
abstract class SoftObject {
  final SoftDevice device;
  final CStruct struct;

  /** How many other objects use this one: it cannot be destroyed before they are. */
  int users;

  SoftObject(SoftDevice device, CStruct struct) {
    this.device = device;
    this.struct = struct;
  }

  /** The field of the struct that holds the object's handle. */
  String handleField() {
    return "handle";
  }

  /** Returns what the object is, such as "queue pair". */
  String kind() {
    String words = getClass().getSimpleName().substring("Soft".length());
    return words.replaceAll("(?<=.)(?=[A-Z])", " ").toLowerCase(Locale.ROOT);
  }

  /** What is outstanding on the object fails: its device was removed, or failed. */
  void fail() {}

  long address() {
    return struct.address();
  }

  /**
   * Throws while the object is used.
   *
   * @throws VerbsException EBUSY
   */
  void requireUnused(String function) {
    if (users > 0) {
      throw new VerbsException(function, Errno.EBUSY, users + " objects use it");
    }
  }
}
