package dev.verbena.soft.device;

import dev.verbena.Errno;
import dev.verbena.VerbsException;
import java.util.Locale;

/** An object of a software device, and the C struct by whose address the seam refers to it. */
public abstract class SoftObject {
  public final SoftDevice device;
  public final CStruct struct;

  /** Whether the program destroyed it after its device was lost, which reported EIO. */
  volatile boolean isReleased;

  /** How many other objects use this one: it cannot be destroyed before they are. */
  public int users;

  public SoftObject(SoftDevice device, CStruct struct) {
    this.device = device;
    this.struct = struct;
  }

  /** The field of the struct that holds the object's handle. */
  public String handleField() {
    return "handle";
  }

  /** Returns what the object is, such as "queue pair". */
  public String kind() {
    String words = getClass().getSimpleName().substring("Soft".length());
    return words.replaceAll("(?<=.)(?=[A-Z])", " ").toLowerCase(Locale.ROOT);
  }

  /** What is outstanding on the object fails: its device was removed, or failed. */
  public void fail() {}

  /** The device goes on after it was stopped. */
  public void resume() {}

  public long address() {
    return struct.address();
  }

  /**
   * Throws while the object is used.
   *
   * @throws VerbsException EBUSY
   */
  public void requireUnused(String function) {
    if (users > 0) {
      throw new VerbsException(function, Errno.EBUSY, users + " objects use it");
    }
  }
}
