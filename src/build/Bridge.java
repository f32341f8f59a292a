import java.io.File;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.util.ArrayList;
import java.util.List;
import java.util.spi.ToolProvider;
import java.util.stream.Stream;

/**
 * Compiles a project of {@code bridges} against the library that is being built. The project's own
 * {@code pom.xml} needs a library that is installed.
 */
final class Bridge {
  private Bridge() {}

  /**
   * Takes the folder of the project, one for its classes, which may have libraries, and the class
   * path.
   */
  public static void main(String[] args) throws IOException {
    Path sources = Path.of(args[0], "src");
    Path output = Path.of(args[1]);
    List<String> path = new ArrayList<>(List.of(output.resolve("classes").toString()));
    Path libraries = output.resolve("libraries");
    if (Files.isDirectory(libraries)) {
      try (Stream<Path> files = Files.list(libraries)) {
        files.map(Path::toString).sorted().forEach(path::add);
      }
    }
    path.add(args[2]);
    compile(sources.resolve("main/java"), output.resolve("classes"), path);
    copy(sources.resolve("main/resources"), output.resolve("classes"));
    compile(sources.resolve("test/java"), output.resolve("test-classes"), path);
  }

  private static void copy(Path resources, Path classes) throws IOException {
    if (!Files.isDirectory(resources)) {
      return;
    }
    try (Stream<Path> files = Files.walk(resources)) {
      for (Path file : (Iterable<Path>) files.filter(Files::isRegularFile)::iterator) {
        Path copy = classes.resolve(resources.relativize(file));
        Files.createDirectories(copy.getParent());
        Files.copy(file, copy, StandardCopyOption.REPLACE_EXISTING);
      }
    }
  }

  private static void compile(Path sources, Path classes, List<String> path) throws IOException {
    List<String> arguments =
        new ArrayList<>(
            List.of("--release", "22", "-g", "-proc:none", "-Werror", "-d", classes.toString()));
    arguments.addAll(List.of("-cp", String.join(File.pathSeparator, path)));
    // classfile: annotations of the library's tests, which are not on this class path.
    arguments.add("-Xlint:all,-restricted,-classfile,-path");
    try (Stream<Path> files = Files.walk(sources)) {
      files.filter(f -> f.toString().endsWith(".java")).map(Path::toString).forEach(arguments::add);
    }
    int status =
        ToolProvider.findFirst("javac")
            .orElseThrow()
            .run(System.out, System.err, arguments.toArray(String[]::new));
    if (status != 0) {
      throw new IllegalStateException(sources + ": javac ended with status " + status);
    }
  }
}
