package dev.verbena.fuzz;

import dev.verbena.testing.ExportedPackages;
import dev.verbena.verbs.Verbena;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.lang.reflect.Constructor;
import java.lang.reflect.Executable;
import java.lang.reflect.Method;
import java.lang.reflect.Modifier;
import java.net.ServerSocket;
import java.net.Socket;
import java.net.URI;
import java.net.URISyntaxException;
import java.nio.channels.SelectionKey;
import java.nio.channels.Selector;
import java.nio.channels.ServerSocketChannel;
import java.nio.file.FileSystem;
import java.nio.file.FileSystems;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Comparator;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import java.util.TreeSet;
import java.util.concurrent.ConcurrentHashMap;
import java.util.stream.Collectors;
import java.util.stream.Stream;

/** The public classes of the API, and which of their methods and constructors the fuzzer calls. */
final class Surface {
  /** Classes of the JDK that sockets extend: of these, methods of objects. */
  private static final List<Class<?>> OF_SOCKETS =
      List.of(
          ServerSocketChannel.class,
          Selector.class,
          SelectionKey.class,
          ServerSocket.class,
          Socket.class);

  private static final String WAITS_IN_C =
      "what it leads to waits in C, as documented, where nothing ends it";

  /** Methods that are never called, each with its reason: {@code Class.method} or with types. */
  static final Map<String, String> EXCLUDED =
      Map.ofEntries(
          Map.entry("RequestList.localUnchecked", "the unchecked form: any address and key"),
          Map.entry("ProtectionDomain.registerAddressSpace", "makes every address a valid target"),
          Map.entry("ReceiveHash.writeTo", "C reads what the allocator returns"),
          Map.entry("DmaBuf.of", "the object would own a descriptor, and close it"),
          Map.entry("SynchronousMode.createId", WAITS_IN_C),
          Map.entry("SynchronousMode.createEndpoint", WAITS_IN_C),
          Map.entry("ConnectionId.migrateToSynchronous", WAITS_IN_C),
          Map.entry("ParentDomain$Builder.allowUnprotectedMemory", "part of the unchecked form"),
          Map.entry("Simulation.sleep", "waits as long as it is told"),
          Map.entry("Simulation.run", "runs code in threads of its own"),
          Map.entry("Simulation.check", "runs code in threads of its own"),
          Map.entry("RdmaSelectorProvider.openPipe", "a pipe of the JDK"),
          Map.entry("RdmaSelectorProvider.inheritedChannel", "a channel of the JDK"));

  private final List<Class<?>> classes;
  private final List<Class<?>> added;
  private final List<Executable> all;
  private final Map<Class<?>, List<Executable>> of;
  private final Set<String> matched = new TreeSet<>();
  private final Map<Class<?>, Boolean> known = new ConcurrentHashMap<>();

  /** Reads the packages, and adds further classes. */
  Surface(Class<?>... more) {
    classes = new ArrayList<>(find());
    classes.addAll(OF_SOCKETS);
    added = List.of(more);
    classes.addAll(added);
    all =
        classes.stream()
            .flatMap(type -> executables(type).stream())
            .sorted(Comparator.comparing(Executable::toGenericString))
            .toList();
    of = all.stream().collect(Collectors.groupingBy(Executable::getDeclaringClass));
  }

  /** The classes that have something to call. */
  List<Class<?>> classes() {
    return classes.stream().filter(of::containsKey).toList();
  }

  /** Those that were added, which are used more often. */
  List<Class<?>> added() {
    return added;
  }

  List<Executable> all() {
    return all;
  }

  List<Executable> of(Class<?> type) {
    return of.get(type);
  }

  /** Exclusions that match nothing any more. */
  Set<String> staleExclusions() {
    Set<String> stale = new TreeSet<>(EXCLUDED.keySet());
    stale.removeAll(matched);
    return stale;
  }

  /** Whether a class is one of the API, or implements one. */
  boolean isApi(Class<?> type) {
    return known.computeIfAbsent(
        type, t -> classes.stream().anyMatch(api -> api.isAssignableFrom(t)));
  }

  private List<Executable> executables(Class<?> type) {
    List<Executable> found = new ArrayList<>();
    for (Method method : type.getMethods()) {
      if ((method.getDeclaringClass() == Object.class && !method.getName().equals("toString"))
          || method.isBridge()
          || (isOfJdk(method.getDeclaringClass()) && Modifier.isStatic(method.getModifiers()))) {
        continue;
      }
      // What a class inherits of the API is called through the class that declares it.
      boolean inherited =
          method.getDeclaringClass() != type && classes.contains(method.getDeclaringClass());
      if (!inherited && !isExcluded(type, method)) {
        found.add(method);
      }
    }
    if (!Modifier.isAbstract(type.getModifiers()) && !isOfJdk(type)) {
      for (Constructor<?> constructor : type.getConstructors()) {
        if (!isExcluded(type, constructor)) {
          found.add(constructor);
        }
      }
    }
    if (type.isEnum()) {
      found.removeIf(e -> e.getDeclaringClass() == Enum.class || e.getName().startsWith("value"));
    }
    return found;
  }

  private static boolean isOfJdk(Class<?> type) {
    return type.getName().startsWith("java.");
  }

  private boolean isExcluded(Class<?> type, Executable executable) {
    if (Arrays.stream(executable.getParameterTypes())
        .anyMatch(parameter -> parameter.getName().startsWith("dev.verbena.internal."))) {
      return true; // For other packages of the library.
    }
    String name = name(type) + "." + executable.getName();
    String typed =
        name
            + Arrays.stream(executable.getParameterTypes())
                .map(Class::getSimpleName)
                .collect(Collectors.joining(",", "(", ")"));
    for (String excluded : List.of(name, typed)) {
      if (EXCLUDED.containsKey(excluded)) {
        matched.add(excluded);
        return true;
      }
    }
    return false;
  }

  /** A class without its package. */
  static String name(Class<?> type) {
    return type.getName().substring(type.getPackageName().length() + 1);
  }

  private static List<Class<?>> find() {
    try {
      URI root = Verbena.class.getProtectionDomain().getCodeSource().getLocation().toURI();
      if (Files.isDirectory(Path.of(root))) {
        return find(Path.of(root));
      }
      try (FileSystem jar = FileSystems.newFileSystem(Path.of(root))) {
        return find(jar.getPath("/"));
      }
    } catch (URISyntaxException | IOException e) {
      throw new AssertionError(e);
    }
  }

  private static List<Class<?>> find(Path root) {
    Map<String, Class<?>> found = new TreeMap<>();
    Set<String> packages = ExportedPackages.byHand();
    packages.remove("dev.verbena"); // No objects: exceptions, constants and interfaces of enums.
    for (String name : packages) {
      try (Stream<Path> files = Files.list(root.resolve(name.replace('.', '/')))) {
        files
            .map(file -> file.getFileName().toString())
            .filter(file -> file.endsWith(".class") && !file.equals("package-info.class"))
            .map(file -> load(name + "." + file.substring(0, file.length() - 6)))
            .filter(Surface::isPublic)
            .forEach(type -> found.put(type.getName(), type));
      } catch (IOException e) {
        throw new UncheckedIOException(e);
      }
    }
    return List.copyOf(found.values());
  }

  private static boolean isPublic(Class<?> type) {
    for (Class<?> t = type; t != null; t = t.getDeclaringClass()) {
      if (!Modifier.isPublic(t.getModifiers())) {
        return false;
      }
    }
    return !Callbacks.isCallback(type);
  }

  private static Class<?> load(String name) {
    try {
      return Class.forName(name, false, Surface.class.getClassLoader());
    } catch (ClassNotFoundException e) {
      throw new AssertionError(e);
    }
  }
}
