package dev.verbena.fuzz;

import java.time.Duration;

/** The devices that a run can fuzz. */
enum FuzzedDevices {
  /** Software devices in the JVM that is fuzzed. */
  SOFT(40_000, Duration.ofMinutes(1)),

  /** The emulated NIC, below {@code src/nic/run}. */
  NIC(20_000, Duration.ofMinutes(1)),

  /** Devices of the kernel: those of the lab. */
  REAL(4_000, Duration.ofMinutes(2));

  /** How many steps a round has, before everything is closed and counted. */
  final long callsInRound;

  /** How long one call may take. */
  final Duration patience;

  FuzzedDevices(long callsInRound, Duration patience) {
    this.callsInRound = callsInRound;
    this.patience = patience;
  }

  /** Those that a command line names. */
  static FuzzedDevices named(String name) {
    return switch (name) {
      case "soft" -> SOFT;
      case "nic" -> NIC;
      case "real" -> REAL;
      default -> throw new IllegalArgumentException("soft, nic or real, not " + name);
    };
  }

  /** Those that the environment of a test has. */
  static FuzzedDevices ofEnvironment() {
    return System.getenv("VERBENA_NIC") == null ? REAL : NIC;
  }

  /** What a round uses. */
  Target target() {
    return switch (this) {
      case SOFT -> new SoftTarget();
      case NIC -> new NicTarget();
      case REAL -> new RealTarget();
    };
  }

  @Override
  public String toString() {
    return switch (this) {
      case SOFT -> "soft";
      case NIC -> "nic";
      case REAL -> "real";
    };
  }
}
