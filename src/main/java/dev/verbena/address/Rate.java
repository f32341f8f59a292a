package dev.verbena.address;

import dev.verbena.NativeConstant;
import dev.verbena.raw.rdma_h;

/**
 * A static rate of an address vector: {@code enum ibv_rate}. The conversions need neither
 * libibverbs nor a device.
 */
public enum Rate implements NativeConstant {
  /** The rate of the port. */
  MAX(rdma_h.IBV_RATE_MAX(), -1, -1),
  /** 2.5 Gbit/s. */
  GBPS_2_5(rdma_h.IBV_RATE_2_5_GBPS(), 1, 2_500),
  /** 5 Gbit/s. */
  GBPS_5(rdma_h.IBV_RATE_5_GBPS(), 2, 5_000),
  /** 10 Gbit/s. */
  GBPS_10(rdma_h.IBV_RATE_10_GBPS(), 4, 10_000),
  /** 20 Gbit/s. */
  GBPS_20(rdma_h.IBV_RATE_20_GBPS(), 8, 20_000),
  /** 30 Gbit/s. */
  GBPS_30(rdma_h.IBV_RATE_30_GBPS(), 12, 30_000),
  /** 40 Gbit/s. */
  GBPS_40(rdma_h.IBV_RATE_40_GBPS(), 16, 40_000),
  /** 60 Gbit/s. */
  GBPS_60(rdma_h.IBV_RATE_60_GBPS(), 24, 60_000),
  /** 80 Gbit/s. */
  GBPS_80(rdma_h.IBV_RATE_80_GBPS(), 32, 80_000),
  /** 120 Gbit/s. */
  GBPS_120(rdma_h.IBV_RATE_120_GBPS(), 48, 120_000),
  /** 14 Gbit/s. */
  GBPS_14(rdma_h.IBV_RATE_14_GBPS(), -1, 14_062),
  /** 56 Gbit/s. */
  GBPS_56(rdma_h.IBV_RATE_56_GBPS(), -1, 56_250),
  /** 112 Gbit/s. */
  GBPS_112(rdma_h.IBV_RATE_112_GBPS(), -1, 112_500),
  /** 168 Gbit/s. */
  GBPS_168(rdma_h.IBV_RATE_168_GBPS(), -1, 168_750),
  /** 25 Gbit/s. */
  GBPS_25(rdma_h.IBV_RATE_25_GBPS(), -1, 25_781),
  /** 100 Gbit/s. */
  GBPS_100(rdma_h.IBV_RATE_100_GBPS(), -1, 103_125),
  /** 200 Gbit/s. */
  GBPS_200(rdma_h.IBV_RATE_200_GBPS(), -1, 206_250),
  /** 300 Gbit/s. */
  GBPS_300(rdma_h.IBV_RATE_300_GBPS(), -1, 309_375),
  /** 28 Gbit/s. */
  GBPS_28(rdma_h.IBV_RATE_28_GBPS(), 11, 28_125),
  /** 50 Gbit/s. */
  GBPS_50(rdma_h.IBV_RATE_50_GBPS(), 20, 53_125),
  /** 400 Gbit/s. */
  GBPS_400(rdma_h.IBV_RATE_400_GBPS(), 160, 425_000),
  /** 600 Gbit/s. */
  GBPS_600(rdma_h.IBV_RATE_600_GBPS(), 240, 637_500),
  /** 800 Gbit/s. */
  GBPS_800(rdma_h.IBV_RATE_800_GBPS(), 320, 850_000),
  /** 1200 Gbit/s. */
  GBPS_1200(rdma_h.IBV_RATE_1200_GBPS(), 480, 1_275_000);

  private final int code;
  private final int multiple;
  private final int megabits;

  Rate(int code, int multiple, int megabits) {
    this.code = code;
    this.multiple = multiple;
    this.megabits = megabits;
  }

  @Override
  public int code() {
    return code;
  }

  /**
   * {@return the rate as a multiple of 2.5 Gbit/s, or -1 if libibverbs defines none: {@code
   * ibv_rate_to_mult}}
   */
  public int multiple() {
    return multiple;
  }

  /**
   * {@return the effective data rate in Mbit/s, or -1 for {@link #MAX}: {@code ibv_rate_to_mbps}}
   */
  public int megabitsPerSecond() {
    return megabits;
  }

  /**
   * {@return the rate of a multiple of 2.5 Gbit/s, or {@link #MAX} if libibverbs defines none:
   * {@code mult_to_ibv_rate}}
   *
   * @param multiple the multiple of 2.5 Gbit/s
   */
  public static Rate ofMultiple(int multiple) {
    for (Rate rate : values()) {
      if (rate.multiple == multiple) {
        return rate;
      }
    }
    return MAX;
  }

  /**
   * {@return the rate of an effective data rate, or {@link #MAX} if libibverbs defines none: {@code
   * mbps_to_ibv_rate}}
   *
   * @param megabits the exact rate in Mbit/s
   */
  public static Rate ofMegabitsPerSecond(int megabits) {
    for (Rate rate : values()) {
      if (rate.megabits == megabits) {
        return rate;
      }
    }
    return MAX;
  }
}
