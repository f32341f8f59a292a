package dev.verbena.testing;

import java.io.File;
import java.io.IOException;
import java.net.JarURLConnection;
import java.net.URISyntaxException;
import java.net.URL;
import java.net.URLClassLoader;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.TreeMap;

/**
 * A JVM of its own for what must not happen in the one that runs the tests. It has no time limit:
 * whoever runs the tests notices that none ends, and interrupts.
 */
public final class ForkedJvm {
  private final List<String> options = new ArrayList<>();
  private final List<String> jars = new ArrayList<>();
  private final Map<String, String> environment = new TreeMap<>();
  private boolean modular;

  /** That of this JVM if it is null. */
  private File folder;

  private Path overlay;

  /** What a JVM said, and how it ended. */
  public record Result(int exit, String output) {
    /** The output, of a JVM that must have ended well. */
    public String succeeded() {
      if (exit != 0) {
        throw new AssertionError("exit " + exit + ":\n" + output);
      }
      return output;
    }
  }

  /** Adds options of the JVM. */
  public ForkedJvm with(String... more) {
    options.addAll(List.of(more));
    return this;
  }

  /** Lets the library and its tests call C. */
  public ForkedJvm withNativeAccess() {
    return with("--enable-native-access=" + (modular ? "dev.verbena" : "ALL-UNNAMED"));
  }

  /** Puts the jar that a class comes from on the class path. */
  public ForkedJvm withJarOf(Class<?> type) {
    jars.add(pathOf(type.getProtectionDomain().getCodeSource().getLocation()));
    return this;
  }

  private static String pathOf(URL place) {
    try {
      return Path.of(place.toURI()).toString();
    } catch (URISyntaxException e) {
      throw new AssertionError(e);
    }
  }

  /** Takes classes of the library from a folder, if they are there. */
  public ForkedJvm before(Path classes) {
    overlay = classes;
    return this;
  }

  /** Sets a variable of the environment. */
  public ForkedJvm withVariable(String name, String value) {
    environment.put(name, value);
    return this;
  }

  /** Sets the current directory. */
  public ForkedJvm in(Path directory) {
    folder = directory.toFile();
    return this;
  }

  /** Puts the library on the module path; the tests' classes become part of its module. */
  public ForkedJvm asModule() {
    modular = true;
    return this;
  }

  /** Runs a class of the tests and waits for its end. */
  public Result run(Class<?> main, String... arguments) {
    List<String> command = new ArrayList<>();
    command.add(Path.of(System.getProperty("java.home"), "bin", "java").toString());
    command.addAll(options);
    String library = root("dev/verbena/verbs/Verbena.class");
    String tests = root("dev/verbena/testing/ForkedJvm.class");
    if (modular) {
      command.addAll(List.of("--module-path", library, "--patch-module", "dev.verbena=" + tests));
      command.addAll(List.of("--module", "dev.verbena/" + main.getName()));
    } else {
      List<String> path = new ArrayList<>(List.of(library, tests));
      path.addAll(jars);
      if (overlay != null) {
        path.addFirst(overlay.toString());
      }
      if (ForkedJvm.class.getClassLoader() instanceof URLClassLoader changed) {
        // The library with a change, for this test alone: first of all the change.
        path.addFirst(pathOf(changed.getURLs()[0]));
      }
      command.addAll(List.of("-cp", String.join(File.pathSeparator, path), main.getName()));
    }
    command.addAll(List.of(arguments));
    ProcessBuilder builder = new ProcessBuilder(command).directory(folder);
    builder.environment().putAll(environment);
    try (Program program = Program.start(builder)) {
      return new Result(program.exitStatus(), program.text());
    } catch (IOException e) {
      throw new AssertionError(command.toString(), e);
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
      throw new AssertionError(e);
    }
  }

  /** The folder or jar that a class comes from. */
  public static String root(String resource) {
    URL url =
        Objects.requireNonNull(ForkedJvm.class.getClassLoader().getResource(resource), resource);
    try {
      if (url.openConnection() instanceof JarURLConnection jar) {
        return Path.of(jar.getJarFileURL().toURI()).toString();
      }
      String file = Path.of(url.toURI()).toString();
      return file.substring(0, file.length() - resource.length() - 1);
    } catch (IOException | URISyntaxException e) {
      throw new AssertionError(e);
    }
  }
}
