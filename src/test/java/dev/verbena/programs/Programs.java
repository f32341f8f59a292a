package dev.verbena.programs;

import dev.verbena.tools.command.Cli;
import picocli.CommandLine.Command;

/**
 * The example programs of the RDMA manuals and of rdma-core, with their options and output, as
 * peers of the C programs: src/test/programs runs them.
 */
@Command(
    name = "programs",
    header = "The example programs of the RDMA manuals and of rdma-core.",
    subcommands = {
      RcExample.class,
      PingPong.class,
      Rping.class,
      Rstream.class,
      Riostream.class,
      Rcopy.class,
      Mckey.class,
      Mc.class,
      Srq.class,
      Apm.class,
      Batch.class,
      Packets.class
    })
public final class Programs extends Cli {
  /** Runs a program, and ends the JVM with its exit status. */
  public static void main(String[] args) {
    new Programs().runAndExit(args);
  }

  @Override
  protected Cli again() {
    return new Programs();
  }
}
