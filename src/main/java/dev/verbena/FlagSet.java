package dev.verbena;

import java.util.AbstractSet;
import java.util.Collections;
import java.util.EnumSet;
import java.util.Iterator;
import java.util.Set;
import java.util.StringJoiner;

/**
 * The flags of a mask that C returned: the set of those that this library knows, and the {@link
 * #mask} itself, in which flags of a newer kernel, library or device remain visible.
 *
 * {@snippet :
 * FlagSet<DeviceCapability> capabilities = context.deviceAttributes().capabilities();
 * boolean xrc = capabilities.contains(DeviceCapability.XRC);
 * boolean newer = (capabilities.mask() & 1L << 46) != 0; // has no constant here
 * }
 *
 * <p>The set is immutable. It equals each set of the same constants; {@code equals} ignores bits
 * without a constant.
 *
 * @param <E> the enum of the flags
 */
public final class FlagSet<E extends Enum<E> & NativeFlag> extends AbstractSet<E> {
  private final Set<E> known;
  private final long mask;

  private FlagSet(Set<E> known, long mask) {
    this.known = known;
    this.mask = mask;
  }

  /**
   * {@return the flags of a mask}
   *
   * @param <E> the enum of the flags
   * @param type the enum of the flags
   * @param mask the mask
   */
  public static <E extends Enum<E> & NativeFlag> FlagSet<E> of(Class<E> type, long mask) {
    EnumSet<E> known = EnumSet.allOf(type);
    known.removeIf(flag -> (mask & flag.bit()) == 0);
    return new FlagSet<>(Collections.unmodifiableSet(known), mask);
  }

  /** {@return the mask, all bits as C returned them} */
  public long mask() {
    return mask;
  }

  /** {@return the bits of the mask for which this library has no constant} */
  public long unknown() {
    return mask & ~NativeFlag.mask(known);
  }

  @Override
  public Iterator<E> iterator() {
    return known.iterator();
  }

  @Override
  public int size() {
    return known.size();
  }

  @Override
  public boolean contains(Object flag) {
    return known.contains(flag);
  }

  /** Returns the names of the flags, and {@link #unknown} in hexadecimal unless it is 0. */
  @Override
  public String toString() {
    StringJoiner names = new StringJoiner(", ", "[", "]");
    known.forEach(flag -> names.add(flag.toString()));
    if (unknown() != 0) {
      names.add("0x" + Long.toHexString(unknown()));
    }
    return names.toString();
  }
}
