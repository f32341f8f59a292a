package dev.verbena.disni;

import java.io.IOException;
import java.io.InputStream;
import java.lang.invoke.MethodHandles;
import java.net.URI;
import java.net.URL;
import java.util.Collection;
import java.util.List;
import java.util.Map;

/**
 * The classes of DiSNI that this artifact has, too: the JVM must use those of this artifact.
 *
 * <p>It does if this artifact is before DiSNI on the class path. Independent of the order, {@link
 * #install} defines them in DiSNI's place, if it is called before the first use of DiSNI; the agent
 * calls it before the program starts.
 */
public final class ReplacedClasses {
  private static final String REMEDY =
      "put verbena-disni before disni on the class path, or start Java with"
          + " -javaagent:verbena-disni.jar";

  /** Each replaced class, and one of its package that DiSNI alone has. */
  private static final Map<String, String> NEIGHBOURS =
      Map.of(
          "com.ibm.disni.verbs.RdmaProvider", "com.ibm.disni.verbs.IbvWC",
          "com.ibm.disni.util.MemoryUtils", "com.ibm.disni.util.StopWatch",
          "com.ibm.disni.util.NativeAffinity", "com.ibm.disni.util.StopWatch");

  private ReplacedClasses() {}

  /**
   * Makes the JVM use the classes of this artifact, in whatever order the class path has it and
   * DiSNI. Calling it again has no effect.
   *
   * @throws IllegalStateException if one of DiSNI's classes was used before, or DiSNI is missing
   */
  public static void install() {
    try {
      for (String name : List.of("verbs.RdmaProvider", "util.MemoryUtils", "util.NativeAffinity")) {
        define("com.ibm.disni." + name);
      }
      check();
    } catch (ClassNotFoundException e) {
      throw new IllegalStateException(
          "DiSNI's class "
              + e.getMessage()
              + " is not visible to this class loader: add disni-2.1.jar to the class path; in an"
              + " application server or a Spring Boot jar, where an agent does not see the classes"
              + " of the program, put verbena-disni before disni",
          e);
    } catch (IOException | IllegalAccessException e) {
      throw new IllegalStateException(e.getMessage(), e);
    }
  }

  /** Defines a class in DiSNI's class loader, unless the loader has it already. */
  private static void define(String name)
      throws ClassNotFoundException, IOException, IllegalAccessException {
    Class<?> neighbour =
        Class.forName(NEIGHBOURS.get(name), false, ReplacedClasses.class.getClassLoader());
    byte[] code;
    try (InputStream in = own(name).openStream()) {
      code = in.readAllBytes();
    }
    try {
      MethodHandles.privateLookupIn(neighbour, MethodHandles.lookup()).defineClass(code);
    } catch (LinkageError alreadyLoaded) {
      // The right one, or the wrong one: check() tells.
      if (!isOwn(find(name))) {
        throw new IllegalStateException(wrong(name), alreadyLoaded);
      }
    }
  }

  /**
   * Throws an exception if the JVM uses one of DiSNI's classes.
   *
   * @throws IOException with the class, where it is from, and the remedy
   */
  static void check() throws IOException {
    try {
      for (String name : names()) {
        if (!isOwn(find(name))) {
          throw new IOException(wrong(name));
        }
      }
    } catch (ClassNotFoundException e) {
      throw new IOException("this artifact is incomplete: it has no " + e.getMessage(), e);
    }
  }

  static Collection<String> names() {
    return NEIGHBOURS.keySet();
  }

  /** A class that was defined by a lookup has DiSNI's code source: the annotation tells. */
  private static boolean isOwn(Class<?> type) {
    return type.isAnnotationPresent(Replacement.class);
  }

  private static String wrong(String name) {
    String file = name.replace('.', '/') + ".class";
    return name
        + " is DiSNI's own, of "
        + ReplacedClasses.class.getClassLoader().getResource(file)
        + ": "
        + REMEDY;
  }

  private static Class<?> find(String name) throws ClassNotFoundException {
    return Class.forName(name, false, ReplacedClasses.class.getClassLoader());
  }

  /** Returns where the class file of this artifact is, whichever the class loader finds first. */
  private static URL own(String name) throws IOException {
    String self = ReplacedClasses.class.getName().replace('.', '/') + ".class";
    String url = ReplacedClasses.class.getResource("/" + self).toString();
    String root = url.substring(0, url.length() - self.length());
    return URI.create(root + name.replace('.', '/') + ".class").toURL();
  }
}
