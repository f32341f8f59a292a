package dev.verbena.internal;

import java.util.concurrent.atomic.AtomicBoolean;

/** What to do on a host without an RDMA device. */
public final class NoDevice {
  /** The ways on, for the end of a message. */
  public static final String REMEDY =
      "without a NIC: -Ddev.verbena.soft=2 (or VERBENA_SOFT=2) gives a program two software"
          + " devices, './verbena COMMAND --both-ends' runs both ends of a command on such devices,"
          + " and '--device udp:ADDRESS' has one that exchanges RoCE v2 packets with other hosts;"
          + " './verbena doctor' shows what a NIC or Soft-RoCE needs";

  private static final System.Logger LOG = System.getLogger("dev.verbena");
  private static final AtomicBoolean REPORTED = new AtomicBoolean();

  private NoDevice() {}

  /** Logs, at the first call, that there is no device: an empty list has no message. */
  public static void report() {
    if (REPORTED.compareAndSet(false, true)) {
      LOG.log(System.Logger.Level.INFO, "no RDMA device; " + REMEDY);
    }
  }
}
