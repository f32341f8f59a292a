package dev.verbena.internal;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.verbena.internal.foreign.Call;
import dev.verbena.internal.foreign.Downcall;
import dev.verbena.internal.foreign.MappedMemory;
import dev.verbena.internal.foreign.Upcalls;
import dev.verbena.testing.GeneratedFile;
import java.io.IOException;
import java.lang.foreign.FunctionDescriptor;
import java.lang.foreign.MemoryLayout;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.lang.invoke.MethodHandle;
import java.lang.invoke.MethodType;
import java.lang.reflect.Field;
import java.lang.reflect.Modifier;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Set;
import java.util.TreeSet;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

/**
 * The metadata for GraalVM's native-image lists the shape of every call that the seam makes: a
 * native image can make no other. The software device, which consists of upcalls, is not covered.
 */
@Tag("host")
class NativeImageTest {
  private static final Path FILE =
      Path.of(
          "src/main/resources/META-INF/native-image/dev.verbena/verbena/reachability-metadata.json");

  /** The interfaces whose methods are C functions. */
  private static final List<Class<?>> INTERFACES =
      List.of(Verbs.class, Librdmacm.class, Libefa.class, Mlx5dv.class);

  /** The classes that link C functions, each into constants of its own or of a nested class. */
  private static final List<Class<?>> LINKING =
      List.of(Call.class, Downcall.class, MappedMemory.class);

  @Test
  @Tag(GeneratedFile.TAG)
  void theMetadataListsEveryCallOfTheSeam() throws Exception {
    GeneratedFile.check(FILE, metadata());
  }

  @Test
  void noOtherClassLinks() throws IOException {
    Set<String> expected =
        LINKING.stream().map(Class::getSimpleName).collect(Collectors.toCollection(TreeSet::new));
    Set<String> found = new TreeSet<>();
    try (Stream<Path> sources = Files.walk(Path.of("src/main/java/dev/verbena/internal"))) {
      for (Path source : sources.filter(Files::isRegularFile).toList()) {
        if (Files.readString(source).contains("downcallHandle(")) {
          found.add(source.getFileName().toString().replace(".java", ""));
        }
      }
    }
    assertEquals(expected, found);
  }

  private static String metadata() throws Exception {
    Set<String> downcalls = new TreeSet<>();
    for (Class<?> type : LINKING) {
      addHandles(type, downcalls);
      for (Class<?> nested : type.getDeclaredClasses()) {
        addHandles(nested, downcalls);
      }
    }
    String proxies =
        INTERFACES.stream()
            .map(type -> "    { \"type\": { \"proxy\": [\"%s\"] } }".formatted(type.getName()))
            .collect(Collectors.joining(",\n"));
    return """
    {
      "foreign": {
        "downcalls": [
    %s
        ]
      },
      "reflection": [
    %s
      ],
      "resources": [
        { "glob": "dev/verbena/verbs/version" }
      ]
    }
    """
        .formatted(String.join(",\n", downcalls), proxies);
  }

  private static void addHandles(Class<?> type, Set<String> downcalls) throws Exception {
    for (Field field : type.getDeclaredFields()) {
      if (field.getType() == MethodHandle.class) {
        assertTrue(Modifier.isStatic(field.getModifiers()), field::toString);
        field.setAccessible(true);
        downcalls.add(entry(type, ((MethodHandle) field.get(null)).type()));
      }
    }
  }

  /**
   * The call of a constant handle. {@link Call} and {@link Downcall} take the function's address
   * first; all but {@link Call}, if they take a segment then, that for errno.
   */
  private static String entry(Class<?> linking, MethodType type) {
    List<String> options = new ArrayList<>();
    List<Class<?>> parameters = type.parameterList();
    boolean isCall = linking.getName().startsWith(Call.class.getName() + "$");
    if (isCall || linking == Downcall.class) {
      parameters = parameters.subList(1, parameters.size());
    }
    if (!isCall && !parameters.isEmpty() && parameters.getFirst() == MemorySegment.class) {
      parameters = parameters.subList(1, parameters.size());
      options.add("\"captureCallState\": true");
    }
    if (linking.getSimpleName().startsWith("Critical")) {
      options.add("\"critical\": { \"allowHeapAccess\": false }");
    }
    MemoryLayout[] layouts =
        parameters.stream().map(NativeImageTest::layout).toArray(MemoryLayout[]::new);
    return entry(
        type.returnType() == void.class
            ? FunctionDescriptor.ofVoid(layouts)
            : FunctionDescriptor.of(layout(type.returnType()), layouts),
        options);
  }

  private static MemoryLayout layout(Class<?> type) {
    return type == MemorySegment.class ? ValueLayout.ADDRESS : Upcalls.layout(type);
  }

  private static String entry(FunctionDescriptor descriptor, List<String> options) {
    String parameters =
        descriptor.argumentLayouts().stream()
            .map(NativeImageTest::name)
            .collect(Collectors.joining(", "));
    String result = descriptor.returnLayout().map(NativeImageTest::name).orElse("\"void\"");
    return "      { \"returnType\": %s, \"parameterTypes\": [%s]%s }"
        .formatted(
            result,
            parameters,
            options.isEmpty() ? "" : ", \"options\": { " + String.join(", ", options) + " }");
  }

  private static String name(MemoryLayout layout) {
    return layout instanceof ValueLayout value && value.carrier().isPrimitive()
        ? "\"j" + value.carrier().getName() + "\""
        : "\"void*\"";
  }
}
