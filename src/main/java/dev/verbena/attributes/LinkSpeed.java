package dev.verbena.attributes;

import dev.verbena.NativeConstant;

/** The speed of each lane of a link, with the codes of the InfiniBand specification. */
public enum LinkSpeed implements NativeConstant {
  /** Single data rate: 2.5 Gbit/s. */
  SDR(1, "2.5 Gbps"),
  /** Double data rate: 5 Gbit/s. */
  DDR(2, "5.0 Gbps"),
  /** Quad data rate: 10 Gbit/s. */
  QDR(4, "10.0 Gbps"),
  /** Fourteen data rate at a lower clock: 10 Gbit/s. */
  FDR10(8, "10.0 Gbps"),
  /** Fourteen data rate: 14 Gbit/s. */
  FDR(16, "14.0 Gbps"),
  /** Enhanced data rate: 25 Gbit/s. */
  EDR(32, "25.0 Gbps"),
  /** High data rate: 50 Gbit/s. */
  HDR(64, "50.0 Gbps"),
  /** Next data rate: 100 Gbit/s. */
  NDR(128, "100.0 Gbps"),
  /** Extended data rate: 200 Gbit/s. */
  XDR(256, "200.0 Gbps"),
  /** An undefined code, which some ports report while they are down. */
  UNKNOWN(-1, "unknown");

  private final int code;
  private final String text;

  LinkSpeed(int code, String text) {
    this.code = code;
    this.text = text;
  }

  @Override
  public int code() {
    return code;
  }

  /** {@return the speed as text, such as {@code 25.0 Gbps}} */
  public String text() {
    return text;
  }
}
