package dev.verbena.tools.command;

import dev.verbena.soft.SoftNetwork;
import java.util.ArrayList;
import java.util.List;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Option;

/** The option for the limits of the software devices that both ends of a program run on. */
public final class ProfileOption {
  public static final String OPTION = "--profile";

  @Option(
      names = OPTION,
      paramLabel = "NAME",
      description =
          "With --both-ends: the limits and refusals of a device: connectx5, connectx7, efa, erdma,"
              + " irdma, rxe or siw.")
  @SuppressWarnings("UnusedVariable") // Required by picocli: see apply.
  private String name;

  /** Gives the devices of a network the profile that a command was given, if any. */
  public static void apply(CommandSpec command, SoftNetwork network) {
    String name = command.commandLine().getParseResult().matchedOptionValue(OPTION, null);
    if (name != null) {
      try {
        var _ = network.profile(name);
      } catch (IllegalArgumentException e) {
        throw Failure.usage(command, e.getMessage());
      }
    }
  }

  /** Returns arguments without the option. */
  public static List<String> without(List<String> arguments) {
    List<String> others = new ArrayList<>();
    for (int i = 0; i < arguments.size(); i++) {
      if (arguments.get(i).equals(OPTION)) {
        i++; // Its value.
      } else if (!arguments.get(i).startsWith(OPTION + "=")) {
        others.add(arguments.get(i));
      }
    }
    return others;
  }
}
