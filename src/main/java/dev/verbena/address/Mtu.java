package dev.verbena.address;

import dev.verbena.NativeConstant;
import dev.verbena.internal.Codes;
import dev.verbena.raw.rdma_h;

/** The maximum transfer unit (MTU): the maximum payload of a packet ({@code enum ibv_mtu}). */
public enum Mtu implements NativeConstant {
  /** 256 bytes. */
  MTU_256(rdma_h.IBV_MTU_256()),
  /** 512 bytes. */
  MTU_512(rdma_h.IBV_MTU_512()),
  /** 1024 bytes. */
  MTU_1024(rdma_h.IBV_MTU_1024()),
  /** 2048 bytes. */
  MTU_2048(rdma_h.IBV_MTU_2048()),
  /** 4096 bytes. */
  MTU_4096(rdma_h.IBV_MTU_4096());

  private final int code;

  Mtu(int code) {
    this.code = code;
  }

  @Override
  public int code() {
    return code;
  }

  /**
   * {@return the MTU of a code}
   *
   * @param code a value of {@code enum ibv_mtu}; 0, which ports that are down report, is the
   *     smallest
   */
  public static Mtu of(int code) {
    return code == 0 ? MTU_256 : Codes.of(Mtu.class, code, MTU_256);
  }

  /** {@return the MTU in bytes, 256 to 4096} */
  public int bytes() {
    return 1 << (code + 7);
  }

  /**
   * {@return the constant of a size}
   *
   * @param bytes the size: 256, 512, 1024, 2048 or 4096 bytes
   * @throws IllegalArgumentException if the size is none of these
   */
  public static Mtu ofBytes(int bytes) {
    for (Mtu mtu : values()) {
      if (mtu.bytes() == bytes) {
        return mtu;
      }
    }
    throw new IllegalArgumentException("MTU must be 256, 512, 1024, 2048 or 4096: " + bytes);
  }

  /**
   * {@return the smaller MTU of two, which a path between them supports}
   *
   * @param other another MTU
   */
  public Mtu min(Mtu other) {
    return compareTo(other) <= 0 ? this : other;
  }
}
