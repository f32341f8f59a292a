package dev.verbena.tools.command;

import java.io.PrintWriter;
import java.util.Collection;
import java.util.List;
import picocli.CommandLine;
import picocli.CommandLine.ParameterException;
import picocli.CommandLine.UnmatchedArgumentException;

/** Reports a wrong command line: what is wrong, what may have been meant, and where to look. */
final class Misuse {
  private Misuse() {}

  /** Prints the report, and returns the exit status. */
  static int report(ParameterException e, String[] arguments) {
    CommandLine command = e.getCommandLine();
    String name = command.getCommandSpec().qualifiedName();
    PrintWriter err = command.getErr();
    if (!(e instanceof UnmatchedArgumentException) && !command.getSubcommands().isEmpty()) {
      // A command is missing: the usage lists them, and the error stands below it.
      command.usage(err);
      err.println();
    }
    err.println(e.getMessage());
    if (e instanceof UnmatchedArgumentException unmatched) {
      String word = unmatched.getUnmatched().getFirst();
      for (String meant : similar(word, names(command, word))) {
        err.println("Did you mean " + meant + "?");
      }
    }
    err.println("Try '" + name + " --help'.");
    return command.getCommandSpec().exitCodeOnInvalidInput();
  }

  /** Returns the long options, or the commands. */
  private static Collection<String> names(CommandLine command, String word) {
    return word.startsWith("-")
        ? command.getCommandSpec().optionsMap().keySet().stream()
            .filter(name -> name.startsWith("--"))
            .toList()
        : command.getSubcommands().keySet();
  }

  /** Returns the names that differ from a word in up to two letters, but not in all. */
  private static List<String> similar(String word, Collection<String> names) {
    return names.stream()
        .filter(name -> distance(word, name) < Math.min(3, word.length()))
        .sorted()
        .toList();
  }

  /** Returns the number of letters to insert, delete or replace (Levenshtein distance). */
  private static int distance(String one, String other) {
    int[] row = new int[other.length() + 1];
    for (int j = 0; j <= other.length(); j++) {
      row[j] = j;
    }
    for (int i = 1; i <= one.length(); i++) {
      int diagonal = row[0];
      row[0] = i;
      for (int j = 1; j <= other.length(); j++) {
        int replaced = diagonal + (one.charAt(i - 1) == other.charAt(j - 1) ? 0 : 1);
        diagonal = row[j];
        row[j] = Math.min(replaced, 1 + Math.min(row[j], row[j - 1]));
      }
    }
    return row[other.length()];
  }
}
