package dev.verbena.mlx5;

import static dev.verbena.testing.DeviceKind.MLX5;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.verbena.internal.DcTargetCalls;
import dev.verbena.internal.Mlx5dv;
import dev.verbena.testing.DeviceTest;
import dev.verbena.testing.On;
import dev.verbena.testing.Rig;
import java.io.IOException;
import java.lang.foreign.Arena;
import java.lang.foreign.SymbolLookup;
import java.lang.reflect.Method;
import java.lang.reflect.Modifier;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.Set;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

/** The functions of mlx5dv.h that DC needs, and no others, are called and documented. */
@On(MLX5)
class Mlx5SurfaceTest {
  /** Of the direct data path. */
  private static final String INTERNAL = "mlx5dv_init_obj";

  private static Set<String> called(Class<?>... types) {
    return Stream.of(types)
        .flatMap(type -> Arrays.stream(type.getDeclaredMethods()))
        .filter(method -> Modifier.isPublic(method.getModifiers()))
        .map(Method::getName)
        .filter(name -> !name.equals(INTERNAL))
        .collect(Collectors.toSet());
  }

  @Test
  @Tag("host")
  void theGuideNamesEachFunction() throws IOException {
    String guide = Files.readString(Path.of("docs/efa-and-mlx5.md"));
    String named = guide.substring(guide.indexOf("Of `mlx5dv.h`"));
    called(Mlx5dv.class, DcTargetCalls.class)
        .forEach(name -> assertTrue(named.contains("`" + name + "`"), name));
  }

  @DeviceTest
  void theLibraryExportsThem() {
    Rig.orSkip(
        () -> {
          try (var context = Rig.a().open()) {
            return Mlx5Device.of(context);
          }
        });
    SymbolLookup libmlx5 = SymbolLookup.libraryLookup("libmlx5.so.1", Arena.global());
    called(Mlx5dv.class).forEach(name -> assertTrue(libmlx5.find(name).isPresent(), name));
  }
}
