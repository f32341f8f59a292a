package dev.verbena.tools.command;

import dev.verbena.soft.SoftNetwork;
import picocli.CommandLine;
import picocli.CommandLine.ExecutionException;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Model.OptionSpec;
import picocli.CommandLine.Option;
import picocli.CommandLine.ParseResult;
import picocli.CommandLine.RunLast;
import picocli.CommandLine.Spec;
import picocli.CommandLine.Spec.Target;

/**
 * A software device over UDP in place of the devices of this host, for one run of a program: {@code
 * --device udp:ADDRESS}.
 *
 * <p>This class has the option for programs that do not choose a device, since RDMA CM does. In the
 * other programs it is one more name of {@code --ib-dev}.
 */
public final class UdpDevice {
  public static final String OPTION = "--device";

  private static final String UDP = "udp:";
  private static final int MAX_PORT = 65_535;

  @Spec(Target.MIXEE)
  private CommandSpec command;

  @Option(
      names = OPTION,
      paramLabel = "udp:ADDRESS",
      description = "Use a software device over UDP with this local address.")
  public void device(String name) {
    if (!isDescribedBy(name)) {
      throw Failure.usage(
          command,
          "--device takes udp:ADDRESS, not %s: the addresses determine which device of this host is"
                  .formatted(name)
              + " used");
    }
  }

  /** Returns whether the name of a device describes a software device over UDP. */
  public static boolean isDescribedBy(String name) {
    return name != null && name.startsWith(UDP);
  }

  /** Runs a command, on the software device over UDP that its option describes, if any. */
  public static int execute(ParseResult result) {
    ParseResult leaf = result;
    while (leaf.hasSubcommand()) {
      leaf = leaf.subcommand();
    }
    for (OptionSpec port : leaf.matchedOptions()) {
      if (port.paramLabel().equals("PORT") && port.getValue() instanceof Integer number) {
        Failure.require(leaf.commandSpec(), port.longestName(), number, 1, MAX_PORT);
      }
    }
    OptionSpec option = leaf.matchedOption(OPTION);
    String name = option == null ? null : option.originalStringValues().getLast();
    if (isDescribedBy(name)) {
      return execute(result, leaf.commandSpec(), name);
    }
    if (leaf.hasMatchedOption(ProfileOption.OPTION) && !leaf.hasMatchedOption(BothEnds.OPTION)) {
      throw Failure.usage(
          leaf.commandSpec(), ProfileOption.OPTION + " requires " + BothEnds.OPTION);
    }
    if (Tracing.isWanted(leaf.commandSpec()) && !leaf.hasMatchedOption(BothEnds.OPTION)) {
      throw Failure.usage(
          leaf.commandSpec(),
          "--trace requires a software device: udp:ADDRESS, or --both-ends where available");
    }
    return new RunLast().execute(result);
  }

  private static int execute(ParseResult result, CommandSpec command, String description) {
    CommandLine line = command.commandLine();
    if (line.getParseResult().hasMatchedOption(BothEnds.OPTION)) {
      throw Failure.usage(
          command, BothEnds.OPTION + " has devices of its own: omit " + description);
    }
    try (SoftNetwork network = network(command, description)) {
      if (Tracing.isWanted(command)) {
        network.trace(line.getErr()::println);
      }
      return network.call(() -> new RunLast().execute(result));
    } catch (CommandLine.PicocliException e) {
      throw e;
    } catch (Exception e) {
      throw new ExecutionException(line, e.getMessage(), e);
    }
  }

  private static SoftNetwork network(CommandSpec command, String description) {
    try {
      return SoftNetwork.of(description);
    } catch (IllegalArgumentException e) {
      throw Failure.usage(command, e.getMessage());
    }
  }
}
