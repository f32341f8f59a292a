package dev.verbena.soft.wire;

/** The syndrome of an acknowledge extended transport header (AETH). */
public final class Syndrome {
  /** ACK without a limit of credits. */
  public static final int ACK = 0x1f;

  static final int RNR_NAK = 0x20;
  public static final int NAK_SEQUENCE = 0x60;
  public static final int NAK_INVALID_REQUEST = 0x61;
  public static final int NAK_REMOTE_ACCESS = 0x62;
  public static final int NAK_REMOTE_OPERATION = 0x63;

  private static final int KIND = 0xe0;
  private static final int CODE = 0x1f;

  /** RNR NAK timer codes 0 to 31, in units of 10 microseconds. */
  private static final int[] RNR_TIMERS = {
    65536, 1, 2, 3, 4, 6, 8, 12, 16, 24, 32, 48, 64, 96, 128, 192, 256, 384, 512, 768, 1024, 1536,
    2048, 3072, 4096, 6144, 8192, 12288, 16384, 24576, 32768, 49152
  };

  private Syndrome() {}

  public static boolean isAck(int syndrome) {
    return (syndrome & KIND) == 0;
  }

  public static boolean isRnrNak(int syndrome) {
    return (syndrome & KIND) == RNR_NAK;
  }

  public static int rnrNak(int timerCode) {
    return RNR_NAK | (timerCode & CODE);
  }

  /** How long the requester waits after an RNR NAK. */
  public static long rnrNanos(int syndrome) {
    return RNR_TIMERS[syndrome & CODE] * 10_000L;
  }
}
