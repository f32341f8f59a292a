package dev.verbena.internal;

import dev.verbena.Errno;
import dev.verbena.VerbsException;
import dev.verbena.internal.foreign.NativeAccess;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.SymbolLookup;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Optional;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Stream;

/** A C library, loaded until the JVM ends. */
final class Library {
  /** A line of /proc/self/maps with a file: start, end, name of the file. */
  private static final Pattern MAPPED = Pattern.compile("(\\p{XDigit}+)-(\\p{XDigit}+) .*/([^/]+)");

  /** The name of a file of rdma-core with the release. */
  private static final Pattern RELEASE = Pattern.compile(".*\\.so\\.1\\.\\d+\\.(\\d+\\.\\d+)");

  private final String soname;
  private final String path;
  private final String anchor;
  private final SymbolLookup symbols;

  private Library(String soname, String path, String anchor, SymbolLookup symbols) {
    this.soname = soname;
    this.path = path;
    this.anchor = anchor;
    this.symbols = symbols;
  }

  /**
   * Loads the library of an interface by its soname, or from the path in a system property.
   *
   * @throws IllegalCallerException if the JVM denies native access
   * @throws VerbsException ENOENT if there is no such library, ELIBBAD if the file cannot be loaded
   */
  static Library of(Class<?> functions) {
    SharedLibrary library = functions.getAnnotation(SharedLibrary.class);
    return of(library.soname(), library.packages(), library.anchor());
  }

  /** Loads the library with the values of {@link SharedLibrary}. */
  static Library of(String soname, String packages, String anchor) {
    NativeAccess.require();
    String property = "dev.verbena." + soname.substring(0, soname.indexOf('.'));
    String path = System.getProperty(property, soname);
    try {
      // Never unloaded: providers have threads and fork handlers.
      SymbolLookup symbols = SymbolLookup.libraryLookup(path, Arena.global());
      return new Library(soname, path, anchor, symbols);
    } catch (IllegalArgumentException e) {
      String hint =
          path.equals(soname)
              ? "install the distribution's package (Debian: "
                  + packages
                  + ") or name the file with -D"
                  + property
                  + "=PATH"
              : "-D"
                  + property
                  + (found(path)
                      ? " names a file that the dynamic linker cannot load: is it a shared library"
                          + " of this processor's architecture, readable, and are the libraries"
                          + " there that it needs (ldd)?"
                      : " names a file that does not exist");
      throw new VerbsException("dlopen " + path, found(path) ? Errno.ELIBBAD : Errno.ENOENT, hint);
    }
  }

  /** Returns whether a path is a file; the dynamic linker searches names without a slash. */
  private static boolean found(String path) {
    return path.contains("/") && Files.exists(Path.of(path));
  }

  /** Returns a library with the symbols of a lookup. */
  static Library of(String name, SymbolLookup symbols) {
    return new Library(name, name, "", symbols);
  }

  /**
   * Finds a symbol.
   *
   * @param since the first rdma-core release that exports it; 0 for all releases
   * @throws VerbsException EOPNOTSUPP if the library is too old, or is another library
   */
  MemorySegment find(String symbol, int since) {
    return symbols
        .find(symbol)
        .orElseThrow(
            () ->
                new VerbsException(
                    CNames.of(symbol),
                    Errno.EOPNOTSUPP,
                    since == 0
                        ? path + " does not export it: is this " + soname + "?"
                        : "needs rdma-core " + since + " or newer, found " + this));
  }

  /**
   * Returns the rdma-core release of this library, according to the name of the mapped file: names
   * of links do not contain it.
   *
   * @return for example {@code 44.0}; empty if the file has another name
   */
  Optional<String> release() {
    return symbols
        .find(anchor)
        .flatMap(symbol -> fileAt(symbol.address()))
        .map(RELEASE::matcher)
        .filter(Matcher::matches)
        .map(m -> m.group(1));
  }

  /** Returns the name of the file that is mapped at an address. */
  static Optional<String> fileAt(long address) {
    try (Stream<String> maps = Files.lines(Path.of("/proc/self/maps"))) {
      return maps.map(MAPPED::matcher)
          .filter(Matcher::matches)
          .filter(m -> Long.parseUnsignedLong(m.group(1), 16) <= address)
          .filter(m -> Long.parseUnsignedLong(m.group(2), 16) > address)
          .map(m -> m.group(3))
          .findFirst();
    } catch (IOException | UncheckedIOException e) {
      return Optional.empty(); // Without /proc it is unknown.
    }
  }

  /**
   * Returns a description for messages: the release, or the path of a library of unknown release.
   */
  @Override
  public String toString() {
    return release().map(r -> "rdma-core " + r).orElse(path + " of unknown release");
  }
}
