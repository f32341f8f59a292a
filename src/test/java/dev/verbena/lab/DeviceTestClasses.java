package dev.verbena.lab;

import static org.junit.platform.engine.discovery.DiscoverySelectors.selectClasspathRoots;
import static org.junit.platform.launcher.TagFilter.includeTags;

import dev.verbena.tools.Main;
import java.io.IOException;
import java.io.OutputStream;
import java.io.PrintStream;
import java.nio.file.Path;
import java.util.Set;
import java.util.jar.JarEntry;
import java.util.jar.JarFile;
import org.junit.platform.engine.support.descriptor.ClassSource;
import org.junit.platform.launcher.TestIdentifier;
import org.junit.platform.launcher.TestPlan;
import org.junit.platform.launcher.core.LauncherDiscoveryRequestBuilder;
import org.junit.platform.launcher.core.LauncherFactory;

/**
 * Prints the classes that have device tests, for {@link LabMain}. Loads all classes of the class
 * path and runs the demonstration, so that the archive that the JVM writes at its end ({@code
 * -XX:ArchiveClassesAtExit}) has them, and nearly half of the classes that the JVM generates for
 * method handles: with these, a peer over UDP listens after three quarters of the processor time.
 *
 * <p>Argument: the jar of the tests.
 */
public final class DeviceTestClasses {
  private DeviceTestClasses() {}

  /** Prints in each line the name of a class. */
  public static void main(String[] args) throws IOException {
    TestPlan plan =
        LauncherFactory.create()
            .discover(
                LauncherDiscoveryRequestBuilder.request()
                    .filters(includeTags("device"))
                    .selectors(selectClasspathRoots(Set.of(Path.of(args[0]))))
                    .build());
    for (TestIdentifier engine : plan.getRoots()) {
      for (TestIdentifier test : plan.getChildren(engine)) {
        if (test.getSource().orElse(null) instanceof ClassSource source) {
          System.out.println(source.getClassName());
        }
      }
    }
    for (String jar : System.getProperty("java.class.path").split(":", -1)) {
      loadClasses(Path.of(jar));
    }
    System.setOut(new PrintStream(OutputStream.nullOutputStream()));
    // Ends the JVM, with the exit status of the demonstration.
    Main.main(new String[] {"demo"});
  }

  private static void loadClasses(Path jar) throws IOException {
    try (JarFile file = new JarFile(jar.toFile())) {
      file.stream()
          .map(JarEntry::getName)
          .filter(name -> name.endsWith(".class") && !name.matches("META-INF/.*|.*-info.class"))
          .forEach(name -> load(name.substring(0, name.length() - ".class".length())));
    }
  }

  private static void load(String name) {
    try {
      Class.forName(name.replace('/', '.'), false, DeviceTestClasses.class.getClassLoader());
    } catch (ClassNotFoundException | LinkageError e) {
      // A class for an optional dependency of a library: no test uses it.
    }
  }
}
