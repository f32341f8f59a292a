package dev.verbena.tools;

import dev.verbena.tools.command.Cli;
import picocli.CommandLine.Command;

/** The entry point of the command line. */
@Command(
    name = "verbena",
    header = "RDMA verbs for Java, from the command line.",
    subcommands = {
      Demo.class,
      Doctor.class,
      DevInfo.class,
      Events.class,
      Top.class,
      Perf.class,
      Qualify.class,
      Sniff.class
    },
    footer = {
      "",
      "verbena run [OPTION OF THE JVM...] FILE.java [ARGUMENT...] runs a program with the library."
    })
public final class Main extends Cli {
  /**
   * Runs a command, and ends the JVM with its exit status.
   *
   * @param args the command and its options
   */
  public static void main(String[] args) {
    new Main().runAndExit(args);
  }

  @Override
  protected Cli again() {
    return new Main();
  }
}
