package dev.verbena.soft.device;

import dev.verbena.Errno;
import dev.verbena.VerbsException;
import java.util.Arrays;
import java.util.Locale;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;

/** An object of a software device, and the C struct by whose address the seam refers to it. */
public abstract class SoftObject {
  public final SoftDevice device;

  /** The open device that it belongs to. */
  public final SoftContext context;

  public final CStruct struct;

  /** Whether the program destroyed it after its device was lost, which reported EIO. */
  volatile boolean isReleased;

  /** The number of its creation, by which objects are ordered. */
  long creation;

  /** How many other objects use this one: it cannot be destroyed before they are. */
  private int users;

  /** The field of the struct that holds the object's handle; null if it has none. */
  final @Nullable String handleField;

  private final long address;

  /** What it uses from its creation to its destruction, with nulls. */
  private final @Nullable SoftObject[] used;

  /** An open device, referred to by the address of a struct within its own. */
  SoftObject(SoftDevice device, CStruct struct, long address) {
    this.device = device;
    this.context = (SoftContext) this;
    this.struct = struct;
    this.address = address;
    used = new SoftObject[0];
    handleField = null;
  }

  /**
   * An object of an open device.
   *
   * @param used the objects that it uses, which are not destroyed before it; null for none
   */
  protected SoftObject(SoftContext context, CStruct struct, @Nullable SoftObject... used) {
    this.device = context.device;
    this.context = context;
    this.struct = struct;
    this.address = struct.address();
    this.used = used;
    handleField =
        Stream.of("handle", "qp_base.handle", "ind_tbl_handle")
            .filter(struct::has)
            .findFirst()
            .orElse(null);
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

  public final long address() {
    return address;
  }

  /** Counts a user more, or one less. Called under the network's lock, as what follows. */
  public void use(int change) {
    users += change;
  }

  public final boolean isUsed() {
    return users > 0;
  }

  /** Counts it as a user of all that it uses, or ends that. */
  final void useAll(int change) {
    for (SoftObject other : used) {
      if (other != null) {
        other.use(change);
      }
    }
  }

  /** Uses an object in the place of another one from now on. */
  protected final void useInstead(SoftObject before, SoftObject after) {
    used[Arrays.asList(used).indexOf(before)] = after;
    before.use(-1);
    after.use(1);
  }

  /** Begins what it is or does on the device: it was added to the {@link Registry}. */
  protected void begin() {}

  /** Ends that: it is destroyed. */
  protected void end() {}

  /**
   * Throws while the object is used.
   *
   * @throws VerbsException EBUSY
   */
  public void requireUnused() {
    if (users > 0) {
      throw CallFailure.of(Errno.EBUSY, users + " objects use it");
    }
  }
}
