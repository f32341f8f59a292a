package dev.verbena.raw;

import static java.nio.charset.StandardCharsets.UTF_8;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.SortedMap;
import java.util.TreeMap;
import java.util.regex.Pattern;

/**
 * A C compiler as an oracle: it reads, it writes nothing.
 *
 * @param command its name and the options that let it find the headers
 */
record Compiler(List<String> command) {
  private static final Pattern ERROR =
      Pattern.compile("<stdin>:(\\d+):\\d+: (?:fatal )?error: (.*)");

  /** Whether a run went well, and what it printed. */
  private record Run(int status, String output) {}

  /**
   * The machine's compiler for an architecture: {@code cc} if that is what it compiles for, else
   * the cross compiler.
   *
   * @param arch as the GNU tools call it
   * @param headers the folder to take the RDMA headers from, before any other
   */
  static Optional<Compiler> forArchitecture(String arch, Optional<String> headers) {
    List<String> options = new ArrayList<>(List.of("-std=gnu11", "-w"));
    headers.ifPresent(folder -> options.addAll(List.of("-I", folder)));
    if (targetOf("cc").filter(target -> isGlibc(target, arch)).isPresent()) {
      return Optional.of(new Compiler(concat("cc", options)));
    }
    String cross = arch + "-linux-gnu-gcc";
    // A cross compiler does not search the machine's own headers, and must not do so for libc's.
    options.addAll(List.of("-idirafter", "/usr/include"));
    return targetOf(cross).map(target -> new Compiler(concat(cross, options)));
  }

  /** The errors in a source text, by line: empty if it compiles. */
  SortedMap<Integer, String> errors(String source) {
    List<String> options = new ArrayList<>(command);
    options.addAll(List.of("-fsyntax-only", isClang() ? "-ferror-limit=0" : "-fmax-errors=0"));
    options.addAll(List.of("-x", "c", "-"));
    Run run = run(options, source);
    SortedMap<Integer, String> errors = new TreeMap<>();
    ERROR
        .matcher(run.output)
        .results()
        .forEach(error -> errors.putIfAbsent(Integer.valueOf(error.group(1)), error.group(2)));
    if (run.status != 0 && errors.isEmpty()) {
      errors.put(0, run.output.strip()); // The compiler failed, or a header did.
    }
    return errors;
  }

  private boolean isClang() {
    return run(List.of(command.getFirst(), "--version"), "").output.contains("clang");
  }

  private static boolean isGlibc(String target, String arch) {
    return target.startsWith(arch + "-") && target.contains("linux") && !target.contains("musl");
  }

  private static Optional<String> targetOf(String compiler) {
    try {
      return Optional.of(run(List.of(compiler, "-dumpmachine"), "").output.strip());
    } catch (UncheckedIOException e) {
      return Optional.empty(); // Not installed.
    }
  }

  private static List<String> concat(String first, List<String> rest) {
    List<String> all = new ArrayList<>();
    all.add(first);
    all.addAll(rest);
    return all;
  }

  /** Input comes from a file, and there is one output: nothing can wait for a full pipe. */
  private static Run run(List<String> command, String input) {
    try {
      Path source = Files.createTempFile("verbena", ".c");
      try {
        Files.writeString(source, input);
        ProcessBuilder builder = new ProcessBuilder(command);
        builder.environment().put("LC_ALL", "C");
        builder.redirectInput(source.toFile()).redirectErrorStream(true);
        Process process = builder.start();
        String output = new String(process.getInputStream().readAllBytes(), UTF_8);
        return new Run(process.waitFor(), output);
      } finally {
        Files.delete(source);
      }
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
      throw new IllegalStateException(e);
    }
  }
}
