package dev.verbena.testing;

import dev.verbena.Errno;
import java.io.IOException;
import java.lang.module.ModuleDescriptor;
import java.lang.module.ModuleFinder;
import java.lang.reflect.Modifier;
import java.net.URISyntaxException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import java.util.Set;
import java.util.TreeSet;
import java.util.stream.Collectors;
import java.util.stream.Stream;

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

  /** Returns the classes of {@link #byHand} that code outside can name, by their names. */
  public static List<Class<?>> publicClasses() throws IOException, ClassNotFoundException {
    List<Class<?>> found = new ArrayList<>();
    for (String exported : byHand()) {
      try (Stream<Path> files = Files.list(classes().resolve(exported.replace('.', '/')))) {
        for (Path file : files.filter(path -> path.toString().endsWith(".class")).toList()) {
          String simple = file.getFileName().toString().replace(".class", "");
          Class<?> type =
              Class.forName(
                  exported + "." + simple, false, ExportedPackages.class.getClassLoader());
          if (!simple.equals("package-info") && isPublic(type)) {
            found.add(type);
          }
        }
      }
    }
    found.sort(Comparator.comparing(Class::getName));
    return found;
  }

  /** Whether a class and the classes around it are public. */
  private static boolean isPublic(Class<?> type) {
    Class<?> around = type.getEnclosingClass();
    return Modifier.isPublic(type.getModifiers()) && (around == null || isPublic(around));
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
