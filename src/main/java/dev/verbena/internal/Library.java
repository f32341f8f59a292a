package dev.verbena.internal;

import dev.verbena.Errno;
import dev.verbena.VerbsException;
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

/** One of the two C libraries, loaded for as long as the JVM lives. */
final class Library {
  private final String soname;
  private final String path;
  private final SymbolLookup symbols;

  private Library(String soname, String path, SymbolLookup symbols) {
    this.soname = soname;
    this.path = path;
    this.symbols = symbols;
  }

  /**
   * Loads a library by its soname, or from the path in a system property.
   *
   * @throws IllegalCallerException if the JVM denies native access
   * @throws VerbsException ENOENT if there is no such library or the file is not one
   */
  static Library load(String soname, String property) {
    NativeAccess.require();
    String path = System.getProperty(property, soname);
    try {
      // Never unloaded: providers leave threads and fork handlers behind.
      return new Library(soname, path, SymbolLookup.libraryLookup(path, Arena.global()));
    } catch (IllegalArgumentException e) {
      String hint =
          path.equals(soname)
              ? "install the distribution's package (Debian: "
                  + (soname.startsWith("librdmacm") ? "librdmacm1" : "libibverbs1")
                  + " and ibverbs-providers) or name the file with -D"
                  + property
                  + "=PATH"
              : "-D" + property + " names no library that can be loaded";
      throw new VerbsException("dlopen " + path, Errno.ENOENT, hint);
    }
  }

  /** A library whose symbols come from elsewhere. */
  static Library of(String name, SymbolLookup symbols) {
    return new Library(name, name, symbols);
  }

  /**
   * Finds a symbol.
   *
   * @param since the first rdma-core release that exports it; 0 where every release does
   * @throws VerbsException EOPNOTSUPP if the library is too old, or is another library
   */
  MemorySegment find(String symbol, int since) {
    return symbols
        .find(symbol)
        .orElseThrow(
            () ->
                new VerbsException(
                    symbol,
                    Errno.EOPNOTSUPP,
                    since == 0
                        ? path + " does not export it: is this " + soname + "?"
                        : "needs rdma-core " + since + " or newer, found " + description()));
  }

  /**
   * The rdma-core release this library is of, as far as the name of the mapped file tells.
   *
   * @return such as {@code 44.0}; empty where the file is named otherwise
   */
  Optional<String> release() {
    Pattern mapped = Pattern.compile("/" + Pattern.quote(soname) + "\\.\\d+\\.(\\d+\\.\\d+)$");
    try (Stream<String> maps = Files.lines(Path.of("/proc/self/maps"))) {
      return maps.map(mapped::matcher).filter(Matcher::find).map(m -> m.group(1)).findFirst();
    } catch (IOException | UncheckedIOException e) {
      return Optional.empty(); // Without /proc nothing tells; whoever asks says "unknown".
    }
  }

  /** What was found, for messages: the release, or the path of a library that does not tell. */
  String description() {
    return release().map(r -> "rdma-core " + r).orElse(path + " of unknown release");
  }
}
