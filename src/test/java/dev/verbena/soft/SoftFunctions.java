package dev.verbena.soft;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.lang.reflect.Method;
import java.lang.reflect.Modifier;
import java.net.URISyntaxException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.Map;
import java.util.Set;
import java.util.stream.Collectors;
import java.util.stream.Stream;

/** The C functions that the classes of the software device implement. */
public final class SoftFunctions {
  /** C's inline functions that call the pointer of another. */
  private static final Map<String, String> POINTERS =
      Map.of(
          "ibv_wc_read_invalidated_rkey", "read_imm_data",
          "ibv_query_rt_values_ex", "query_rt_values");

  private final Set<String> implemented;

  private SoftFunctions(Set<String> implemented) {
    this.implemented = implemented;
  }

  /** Reads the classes whose public methods are C functions or the functions behind pointers. */
  public static SoftFunctions read() {
    try {
      Path classes =
          Path.of(SoftNetwork.class.getProtectionDomain().getCodeSource().getLocation().toURI())
              .resolve("dev/verbena/soft/functions");
      try (Stream<Path> files = Files.list(classes)) {
        return new SoftFunctions(
            files
                .map(file -> file.getFileName().toString())
                .filter(
                    name -> name.matches("(\\w+Functions|ExtendedPosting|ExtendedPolling).class"))
                .map(name -> name.replace(".class", ""))
                .flatMap(SoftFunctions::methods)
                .collect(Collectors.toSet()));
      }
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    } catch (URISyntaxException e) {
      throw new AssertionError(e);
    }
  }

  private static Stream<String> methods(String name) {
    try {
      return Arrays.stream(Class.forName("dev.verbena.soft.functions." + name).getDeclaredMethods())
          .filter(method -> Modifier.isPublic(method.getModifiers()))
          .map(Method::getName);
    } catch (ClassNotFoundException e) {
      throw new AssertionError(e);
    }
  }

  /** Returns whether a function, or what its macro or inline function calls, is implemented. */
  public boolean has(String function) {
    String proper = function.replaceFirst("^_+", "");
    String pointer =
        POINTERS.getOrDefault(
            proper, proper.replaceFirst("^ibv_wc_", "").replaceFirst("^ibv_", ""));
    return implemented.contains(pointer)
        || Stream.of("", "_", "__", "___")
            .anyMatch(prefix -> implemented.contains(prefix + proper));
  }
}
