package dev.verbena.values;

import dev.verbena.NativeFlag;

/** A flag for opening an XRC domain that processes share: {@code oflags} of {@code open(2)}. */
public enum XrcDomainFlag implements NativeFlag {
  /** Create the domain if none is associated with the file: {@code O_CREAT}. */
  CREAT(0x40),
  /** Fail if a domain is associated with the file; with {@link #CREAT}: {@code O_EXCL}. */
  EXCL(0x80);

  /** Linux has the same numbers on x86-64 and aarch64. */
  private final int bit;

  XrcDomainFlag(int bit) {
    this.bit = bit;
  }

  @Override
  public long bit() {
    return bit;
  }
}
