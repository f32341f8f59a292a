package dev.verbena.raw;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.lang.foreign.GroupLayout;
import java.lang.foreign.MemorySegment;
import java.lang.reflect.Method;
import java.lang.reflect.Modifier;
import java.net.URI;
import java.net.URISyntaxException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.SortedMap;
import java.util.TreeMap;
import java.util.stream.Stream;

/** What the package has, found by looking: so nothing that jextract adds escapes the proof. */
final class RawTypes {
  private static final String PACKAGE = RawTypes.class.getPackageName();

  private RawTypes() {}

  /** Every top-level class that stands for a struct, a union or a typedef of one. */
  static List<Class<?>> structs() {
    return topLevel().filter(type -> hasLayout(type)).toList();
  }

  /** The classes of structs that are declared inside others, at any depth. */
  static Stream<Class<?>> nested(Class<?> type) {
    return Stream.of(type.getDeclaredClasses())
        .flatMap(inner -> Stream.concat(Stream.of(inner), nested(inner)))
        .filter(RawTypes::hasLayout);
  }

  static GroupLayout layout(Class<?> struct) {
    return (GroupLayout) call(method(struct, "layout"));
  }

  /** Offset by field, as the accessors of a struct's own class have them. */
  static SortedMap<String, Long> offsets(Class<?> struct) {
    SortedMap<String, Long> offsets = new TreeMap<>();
    for (Method method : struct.getMethods()) {
      if (method.getName().endsWith("$offset") && method.getParameterCount() == 0) {
        String field = method.getName().replace("$offset", "");
        offsets.put(field, (Long) call(method));
      }
    }
    return offsets;
  }

  /** Value by name. Pointers stand as their address. */
  static SortedMap<String, Number> constants() {
    SortedMap<String, Number> constants = new TreeMap<>();
    for (Method method : rdma_h.class.getMethods()) {
      if (Modifier.isStatic(method.getModifiers()) && method.getParameterCount() == 0) {
        Object value = call(method);
        constants.put(
            method.getName(),
            value instanceof MemorySegment pointer ? pointer.address() : (Number) value);
      }
    }
    return constants;
  }

  private static Stream<Class<?>> topLevel() {
    try {
      URI classes = rdma_h.class.getProtectionDomain().getCodeSource().getLocation().toURI();
      Path folder = Path.of(classes).resolve(PACKAGE.replace('.', '/'));
      try (Stream<Path> files = Files.list(folder)) {
        List<Class<?>> found =
            files
                .map(file -> file.getFileName().toString())
                .filter(name -> name.endsWith(".class") && !name.contains("$"))
                .map(name -> name.substring(0, name.length() - ".class".length()))
                .filter(name -> !name.equals("package-info") && !name.equals("module-info"))
                .sorted()
                .<Class<?>>map(name -> load(PACKAGE + "." + name))
                .toList();
        return found.stream();
      }
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    } catch (URISyntaxException e) {
      throw new IllegalStateException(e);
    }
  }

  /** Without initialising: the classes of functions load a library when they are. */
  private static Class<?> load(String name) {
    try {
      return Class.forName(name, false, RawTypes.class.getClassLoader());
    } catch (ClassNotFoundException e) {
      throw new IllegalStateException(e);
    }
  }

  private static boolean hasLayout(Class<?> type) {
    return Stream.of(type.getMethods())
        .anyMatch(
            method ->
                method.getName().equals("layout")
                    && method.getParameterCount() == 0
                    && method.getReturnType() == GroupLayout.class);
  }

  private static Method method(Class<?> type, String name) {
    try {
      return type.getMethod(name);
    } catch (NoSuchMethodException e) {
      throw new IllegalStateException(e);
    }
  }

  private static Object call(Method accessor) {
    try {
      return accessor.invoke(null);
    } catch (ReflectiveOperationException e) {
      throw new IllegalStateException("cannot call " + accessor, e);
    }
  }
}
