package dev.verbena.testing;

import dev.verbena.Errno;
import java.lang.module.ModuleDescriptor;
import java.lang.module.ModuleFinder;
import java.net.URISyntaxException;
import java.nio.file.Path;
import java.util.Set;
import java.util.TreeSet;
import java.util.stream.Collectors;

/** The packages that the module exports. */
public final class ExportedPackages {
  private ExportedPackages() {}

  /** Returns their names, without {@code dev.verbena.raw}, which jextract writes. */
  public static Set<String> byHand() {
    Set<String> names = all();
    names.remove("dev.verbena.raw");
    return names;
  }

  /** Returns the names of all. */
  public static Set<String> all() {
    return ModuleFinder.of(classes()).findAll().iterator().next().descriptor().exports().stream()
        .map(ModuleDescriptor.Exports::source)
        .collect(Collectors.toCollection(TreeSet::new));
  }

  /** Returns the folder or the jar of the library's classes. */
  public static Path classes() {
    try {
      return Path.of(Errno.class.getProtectionDomain().getCodeSource().getLocation().toURI());
    } catch (URISyntaxException e) {
      throw new AssertionError(e);
    }
  }
}
