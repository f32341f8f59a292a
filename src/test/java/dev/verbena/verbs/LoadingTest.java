package dev.verbena.verbs;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.verbena.testing.ForkedJvm;
import java.io.IOException;
import java.lang.module.ModuleFinder;
import java.lang.module.ModuleReference;
import java.lang.reflect.Modifier;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Objects;
import java.util.Set;
import java.util.stream.Collectors;
import org.junit.jupiter.api.Test;

/** Every class that users can name loads on any machine, and loads no library. */
class LoadingTest {
  @Test
  void classesLoadWithoutLibraries() {
    check(new ForkedJvm().withNativeAccess());
  }

  /** Enums, messages and {@link Verbena#isSupported} need no native access. */
  @Test
  void classesLoadWithoutNativeAccess() {
    check(
        Runtime.version().feature() >= 24
            ? new ForkedJvm().with("--illegal-native-access=deny")
            : new ForkedJvm().with("--enable-native-access=java.logging"));
  }

  @Test
  void classesLoadOnAnotherSystem() {
    check(new ForkedJvm().withNativeAccess().with("-Dos.name=Windows 11"));
  }

  private static void check(ForkedJvm jvm, String... initialised) {
    List<String> lines = jvm.run(LoadAll.class, initialised).succeeded().lines().toList();
    assertEquals("mapped: []", lines.getLast(), lines::toString);
    assertTrue(Integer.parseInt(lines.getFirst()) >= 20, lines::toString);
    assertEquals(2, lines.size(), lines::toString);
  }

  /**
   * Links all public classes that the module exports, but for raw, whose functions load their
   * library. Initialises those that the arguments name, without arguments all.
   */
  static final class LoadAll {
    private LoadAll() {}

    public static void main(String[] args) throws Exception {
      Path root =
          Path.of(Verbena.class.getProtectionDomain().getCodeSource().getLocation().toURI());
      ModuleReference module =
          ModuleFinder.of(root)
              .find("dev.verbena")
              .orElseThrow(() -> new AssertionError("no module in " + root));
      Set<String> exported =
          module.descriptor().exports().stream()
              .map(exports -> exports.source().replace('.', '/'))
              .filter(name -> !name.endsWith("/raw"))
              .collect(Collectors.toSet());
      int loaded = 0;
      try (var reader = module.open()) {
        for (String name : reader.list().toList()) {
          int slash = name.lastIndexOf('/');
          if (name.endsWith(".class") && slash > 0 && exported.contains(name.substring(0, slash))) {
            loaded += load(name.substring(0, name.length() - 6).replace('/', '.'), Set.of(args));
          }
        }
      }
      System.out.println(loaded);
      System.out.println("mapped: " + rdmaLibraries());
    }

    private static int load(String name, Set<String> initialised)
        throws ReflectiveOperationException {
      Class<?> type = Class.forName(name, false, LoadAll.class.getClassLoader());
      if (!Modifier.isPublic(type.getModifiers())) {
        return 0;
      }
      Objects.requireNonNull(type.getDeclaredMethods(), "resolves what it names");
      if (initialised.isEmpty() || initialised.contains(name)) {
        Class.forName(name, true, type.getClassLoader());
      }
      return 1;
    }

    private static List<String> rdmaLibraries() throws IOException {
      Path maps = Path.of("/proc/self/maps");
      return Files.exists(maps)
          ? Files.readAllLines(maps).stream()
              .filter(line -> line.contains("libibverbs") || line.contains("librdmacm"))
              .toList()
          : List.of();
    }
  }
}
