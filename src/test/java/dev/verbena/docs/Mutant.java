package dev.verbena.docs;

import static dev.verbena.testing.ForkedJvm.root;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.sun.source.tree.ClassTree;
import com.sun.source.tree.CompilationUnitTree;
import com.sun.source.tree.MethodTree;
import com.sun.source.tree.ReturnTree;
import com.sun.source.tree.Tree;
import com.sun.source.util.JavacTask;
import com.sun.source.util.SourcePositions;
import com.sun.source.util.Trees;
import java.io.File;
import java.io.IOException;
import java.io.StringWriter;
import java.net.URL;
import java.net.URLClassLoader;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.Callable;
import java.util.function.BiFunction;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Collectors;
import javax.tools.JavaCompiler;
import javax.tools.JavaFileObject;
import javax.tools.SimpleJavaFileObject;
import javax.tools.StandardJavaFileManager;
import javax.tools.ToolProvider;

/**
 * The library and its tests in a class loader of their own, which loads one class of the library
 * from a changed source.
 */
final class Mutant implements AutoCloseable {
  private static final String PACKAGE = "dev.verbena.";

  /** A package below {@code dev.verbena}, a class and a member. */
  private static final Pattern METHOD = Pattern.compile("([a-z0-9.]+)\\.([A-Z]\\w*)\\.(.*)");

  private static final Path SOURCES = Path.of("src/main/java/dev/verbena");
  private static final JavaCompiler COMPILER = ToolProvider.getSystemJavaCompiler();

  private static final String LIBRARY = root("dev/verbena/verbs/Verbena.class");

  private final URLClassLoader loader;

  private Mutant(Path... changed) throws IOException {
    List<URL> urls = new ArrayList<>();
    for (Path path : changed) {
      urls.add(path.toUri().toURL());
    }
    urls.add(Path.of(LIBRARY).toUri().toURL());
    urls.add(Path.of(root("dev/verbena/docs/Mutant.class")).toUri().toURL());
    // No parent: the loaders of the JDK find the library's own classes where it is a module.
    loader =
        new URLClassLoader(urls.toArray(URL[]::new), null) {
          @Override
          protected Class<?> findClass(String name) throws ClassNotFoundException {
            return name.startsWith(PACKAGE)
                ? super.findClass(name)
                : Mutant.class.getClassLoader().loadClass(name);
          }
        };
  }

  /** Changes nothing. */
  static Mutant unchanged() throws IOException {
    return new Mutant();
  }

  /**
   * Changes a method to throw an error.
   *
   * @param method such as {@code cm.Transfers.send}, with the types of the parameters if there are
   *     several of this name
   * @param folder for the class
   */
  static Mutant thatThrows(String method, Path folder) throws IOException {
    return changed(method, folder, Mutant::throwing);
  }

  /** Changes a method to return another number, of which each bit differs. */
  static Mutant thatReturnsWrongValue(String method, Path folder) throws IOException {
    return changed(method, folder, Mutant::returningComplement);
  }

  private static Mutant changed(
      String method, Path folder, BiFunction<Source, MethodTree, String> change)
      throws IOException {
    Matcher names = METHOD.matcher(method);
    if (!names.matches()) {
      throw new IllegalArgumentException(method);
    }
    Path file = SOURCES.resolve(names.group(1).replace('.', '/')).resolve(names.group(2) + ".java");
    Source source = Source.parse(file);
    compile(file, change.apply(source, source.method(names.group(3))), folder);
    return new Mutant(folder);
  }

  private static String throwing(Source source, MethodTree method) {
    return source.replace(method.getBody(), "{ throw new AssertionError(\"mutant\"); }");
  }

  private static String returningComplement(Source source, MethodTree method) {
    ReturnTree last = (ReturnTree) method.getBody().getStatements().getLast();
    Tree value = last.getExpression();
    return source.replace(value, "(%s) ~(%s)".formatted(method.getReturnType(), value));
  }

  /** Runs a test on the devices of this environment; throws what it throws. */
  void run(String test) throws Exception {
    Class<?> run = loader.loadClass(NamedTest.class.getName());
    ((Callable<?>) run.getDeclaredConstructor(String.class).newInstance(test)).call();
  }

  @Override
  public void close() throws IOException {
    loader.close();
  }

  /** A source file of one class. */
  private record Source(String text, CompilationUnitTree unit, SourcePositions positions) {
    static Source parse(Path file) throws IOException {
      try (StandardJavaFileManager files = COMPILER.getStandardFileManager(null, null, null)) {
        var task =
            (JavacTask)
                COMPILER.getTask(null, files, null, null, null, files.getJavaFileObjects(file));
        CompilationUnitTree unit = task.parse().iterator().next();
        SourcePositions positions = Trees.instance(task).getSourcePositions();
        return new Source(Files.readString(file), unit, positions);
      }
    }

    /** The only method of a name, or of a name and types of parameters. */
    MethodTree method(String name) {
      List<MethodTree> found =
          ((ClassTree) unit.getTypeDecls().getFirst())
              .getMembers().stream()
                  .filter(MethodTree.class::isInstance)
                  .map(MethodTree.class::cast)
                  .filter(method -> List.of(nameOf(method), signatureOf(method)).contains(name))
                  .toList();
      assertEquals(1, found.size(), () -> "methods named " + name);
      return found.getFirst();
    }

    private static String nameOf(MethodTree method) {
      return method.getName().toString();
    }

    private static String signatureOf(MethodTree method) {
      return method.getParameters().stream()
          .map(parameter -> parameter.getType().toString())
          .collect(Collectors.joining(", ", method.getName() + "(", ")"));
    }

    String replace(Tree tree, String by) {
      int start = (int) positions.getStartPosition(unit, tree);
      int end = (int) positions.getEndPosition(unit, tree);
      return text.substring(0, start) + by + text.substring(end);
    }
  }

  private static void compile(Path file, String text, Path folder) throws IOException {
    Files.createDirectories(folder);
    var changed =
        new SimpleJavaFileObject(file.toAbsolutePath().toUri(), JavaFileObject.Kind.SOURCE) {
          @Override
          public String getCharContent(boolean ignoreEncodingErrors) {
            return text;
          }
        };
    // Also what the source is annotated with, on either path.
    String path =
        String.join(
            File.pathSeparator,
            LIBRARY,
            System.getProperty("java.class.path"),
            System.getProperty("jdk.module.path", ""));
    List<String> options =
        List.of("-proc:none", "-nowarn", "-implicit:none", "-d", folder.toString(), "-cp", path);
    StringWriter errors = new StringWriter();
    assertTrue(
        COMPILER.getTask(errors, null, null, options, null, List.of(changed)).call(),
        errors::toString);
  }
}
