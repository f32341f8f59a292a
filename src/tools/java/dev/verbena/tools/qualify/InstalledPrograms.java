package dev.verbena.tools.qualify;

import java.io.File;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Arrays;

/** The programs of this host. */
public final class InstalledPrograms {
  private InstalledPrograms() {}

  /** Returns whether a program is in a folder of PATH. */
  public static boolean isInstalled(String program) {
    String path = System.getenv("PATH");
    return path != null
        && Arrays.stream(path.split(File.pathSeparator, -1))
            .anyMatch(folder -> Files.isExecutable(Path.of(folder, program)));
  }
}
