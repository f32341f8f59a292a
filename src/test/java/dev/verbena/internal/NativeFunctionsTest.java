package dev.verbena.internal;

import dev.verbena.testing.GeneratedFile;
import java.io.IOException;
import java.lang.reflect.Method;
import java.lang.reflect.Modifier;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.function.Function;
import java.util.regex.MatchResult;
import java.util.regex.Pattern;
import java.util.stream.Collectors;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/**
 * {@link NativeVerbs}, {@link NativeLibrdmacm}, {@link NativeLibefa} and {@link NativeMlx5dv} are
 * what this class generates from the interfaces of C functions.
 */
@Tag("host")
@Tag(GeneratedFile.TAG)
class NativeFunctionsTest {
  private static final Path SOURCES = Path.of("src/main/java/dev/verbena/internal");

  /** A method with its parameters: abstract, or default with a body. */
  private static final Pattern METHOD =
      Pattern.compile("^  (?:default )?(\\w+) (\\w+)\\(([^)]*)\\)(?:;| \\{)$", Pattern.MULTILINE);

  @ParameterizedTest
  @ValueSource(classes = {Verbs.class, Librdmacm.class, Libefa.class, Mlx5dv.class})
  void theClassIsGeneratedFromTheInterface(Class<?> functions) throws IOException {
    Path file = SOURCES.resolve("Native" + functions.getSimpleName() + ".java");
    String generated = generated(functions);
    // The formatter has wrapped the long lines.
    if (!withoutWhitespace(generated).equals(withoutWhitespace(Files.readString(file)))) {
      GeneratedFile.check(file, generated);
    }
  }

  private static String withoutWhitespace(String source) {
    return source.replaceAll("\\s+", "");
  }

  private static String generated(Class<?> functions) throws IOException {
    String name = functions.getSimpleName();
    SharedLibrary library = functions.getAnnotation(SharedLibrary.class);
    List<String> methods = new ArrayList<>();
    for (Class<?> part : functions.getInterfaces()) {
      methods.addAll(methods(part, functions));
    }
    methods.addAll(methods(functions, functions));
    String body = String.join("\n", methods);
    return """
    package dev.verbena.internal;

    %s
    /** The functions of {@link %s} in C. NativeFunctionsTest generates this class. */
    final class Native%s extends NativeFunctions implements %s {
      Native%s(Library library) {
        super(library);
      }

      /** Loads the library. */
      static Library library() {
        return Library.of("%s", "%s", "%s");
      }

    %s}
    """
        .formatted(
            imports(body),
            name,
            name,
            name,
            name,
            library.soname(),
            library.packages(),
            library.anchor(),
            body);
  }

  private static String imports(String body) {
    return Map.of(
            ContextOp.Of.class,
            ContextOp.Of.values(),
            ErrorConvention.class,
            ErrorConvention.values())
        .entrySet()
        .stream()
        .flatMap(
            constants ->
                Arrays.stream(constants.getValue())
                    .filter(constant -> body.contains(" " + constant + ","))
                    .map(
                        constant ->
                            "import static %s.%s;\n"
                                .formatted(constants.getKey().getCanonicalName(), constant)))
        .sorted()
        .collect(Collectors.joining());
  }

  /** The methods that implement those which an interface declares, in its order. */
  private static List<String> methods(Class<?> declaring, Class<?> functions) throws IOException {
    Map<String, Method> declared =
        Arrays.stream(declaring.getDeclaredMethods())
            .filter(method -> !method.isSynthetic() && !Modifier.isStatic(method.getModifiers()))
            .collect(Collectors.toMap(Method::getName, Function.identity()));
    String source = Files.readString(SOURCES.resolve(declaring.getSimpleName() + ".java"));
    return METHOD
        .matcher(source)
        .results()
        .map(found -> method(declared.get(found.group(2)), functions, found))
        .toList();
  }

  private static String method(Method method, Class<?> functions, MatchResult source) {
    String parameters = source.group(3).replaceAll("\\s+", " ").strip();
    String arguments =
        Arrays.stream(parameters.split(", ", -1))
            .map(parameter -> parameter.substring(parameter.indexOf(' ') + 1))
            .collect(Collectors.joining(", "));
    List<String> statements =
        method.isDefault()
            ? inline(method, functions, arguments)
            : List.of(result(method) + call(method, arguments) + ";");
    return """
      @Override
      public %s %s(%s) {
        %s
      }
    """
        .formatted(
            method.getReturnType(),
            method.getName(),
            parameters,
            String.join("\n    ", statements));
  }

  /** What precedes the call of a function, which returns a long. */
  private static String result(Method method) {
    Class<?> type = method.getReturnType();
    if (type == void.class) {
      return "";
    }
    if (type == boolean.class) {
      return "return 0 != (byte) "; // The other bytes of the register are undefined.
    }
    return type == long.class ? "return " : "return (" + type + ") ";
  }

  /** Whether C dereferences the first argument without a check. */
  private static boolean takesObject(Method method) {
    return method.getParameterCount() > 0
        && method.getParameterTypes()[0] == long.class
        && !method.getAnnotation(Symbol.class).nullable();
  }

  private static String call(Method method, String arguments) {
    String following = arguments.isEmpty() ? ")" : ", " + arguments + ")";
    Symbol symbol = method.getAnnotation(Symbol.class);
    if (symbol != null) {
      return "%s(\"%s\", %d, %s"
              .formatted(
                  takesObject(method) ? "symbolOfObject" : "symbol",
                  method.getName(),
                  symbol.since(),
                  symbol.fails())
          + following;
    }
    ContextOp op = method.getAnnotation(ContextOp.class);
    return "op(\"%s\", %s, \"%s\", %d, %s"
            .formatted(
                method.getName(),
                op.of(),
                ContextOps.field(op, method.getName()),
                op.since(),
                op.fails())
        + following;
  }

  /** A function with logic of its own: its first argument is checked, and it is recorded. */
  private static List<String> inline(Method method, Class<?> functions, String arguments) {
    String name = method.getName();
    String check = "requireFirst(\"%s\", %s);".formatted(name, arguments);
    String call = "%s.super.%s(%s)".formatted(functions.getSimpleName(), name, arguments);
    return method.getReturnType() == void.class
        ? List.of(check, call + ";", "returned(\"%s\", 0, %s);".formatted(name, arguments))
        : List.of(
            check, result(method) + "returned(\"%s\", %s, %s);".formatted(name, call, arguments));
  }
}
