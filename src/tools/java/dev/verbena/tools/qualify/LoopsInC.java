package dev.verbena.tools.qualify;

import static java.lang.foreign.ValueLayout.ADDRESS;
import static java.lang.foreign.ValueLayout.JAVA_INT;
import static java.lang.foreign.ValueLayout.JAVA_LONG;

import dev.verbena.tools.qualify.Bench.Pair;
import java.io.IOException;
import java.io.InputStream;
import java.lang.foreign.Arena;
import java.lang.foreign.FunctionDescriptor;
import java.lang.foreign.Linker;
import java.lang.foreign.MemoryLayout;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.SymbolLookup;
import java.lang.invoke.MethodHandle;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.concurrent.TimeUnit;

/** The loops in C, compiled on this host into a temporary folder, which is removed at once. */
final class LoopsInC implements Loops {
  private static final String SOURCE = "datapath.c";
  private static final String COMPILER = "cc";
  private static final int LIMIT_SECONDS = 30;

  private final Bench bench;
  private final Pair pair;
  private final MethodHandle emptyPolls;
  private final MethodHandle posts;

  /**
   * Compiles the loops.
   *
   * @throws IOException if there is no compiler, or it fails: the message is the reason
   */
  LoopsInC(Bench bench, Pair pair) throws IOException, InterruptedException {
    this.bench = bench;
    this.pair = pair;
    if (!Programs.isInstalled(COMPILER)) {
      throw new IOException("no C compiler: " + COMPILER + " is not installed");
    }
    Path folder = Files.createTempDirectory("verbena");
    Path source = folder.resolve(SOURCE);
    Path library = folder.resolve("datapath.so");
    try {
      try (InputStream resource = LoopsInC.class.getResourceAsStream(SOURCE)) {
        Files.write(source, resource.readAllBytes());
      }
      compile(source, library);
      SymbolLookup symbols = SymbolLookup.libraryLookup(library, Arena.global());
      emptyPolls = function(symbols, "empty_polls", ADDRESS, ADDRESS, JAVA_INT);
      posts =
          function(
              symbols, "posts", ADDRESS, ADDRESS, ADDRESS, JAVA_LONG, JAVA_INT, ADDRESS, ADDRESS,
              JAVA_INT);
    } finally {
      Files.deleteIfExists(source);
      Files.deleteIfExists(library);
      Files.delete(folder);
    }
  }

  private static void compile(Path source, Path library) throws IOException, InterruptedException {
    Process compiler =
        new ProcessBuilder(COMPILER, "-O2", "-shared", "-fPIC", "-o", "" + library, "" + source)
            .redirectErrorStream(true)
            .start();
    try {
      if (!compiler.waitFor(LIMIT_SECONDS, TimeUnit.SECONDS)) {
        throw new IOException("the C compiler has not ended within " + LIMIT_SECONDS + " s");
      }
      if (compiler.exitValue() != 0) {
        String text = new String(compiler.getInputStream().readAllBytes(), StandardCharsets.UTF_8);
        String error =
            text.lines().filter(line -> line.contains("error")).findFirst().orElse(text).strip();
        throw new IOException("the C compiler fails: " + error);
      }
    } finally {
      compiler.destroyForcibly();
    }
  }

  private static MethodHandle function(
      SymbolLookup symbols, String name, MemoryLayout... arguments) {
    return Linker.nativeLinker()
        .downcallHandle(
            symbols.find(name).orElseThrow(), FunctionDescriptor.of(JAVA_INT, arguments));
  }

  @Override
  public String language() {
    return "C";
  }

  @Override
  public void emptyPolls(long[] times) {
    try (Arena arena = Arena.ofConfined()) {
      MemorySegment samples = arena.allocate(JAVA_LONG, times.length);
      requireSuccess(
          (int) emptyPolls.invokeExact(bench.completions.segment(), samples, times.length));
      copy(samples, times);
    } catch (Throwable t) {
      throw failure(t);
    }
  }

  @Override
  public void posts(int batch, long[] postTimes, long[] rounds) {
    try (Arena arena = Arena.ofConfined()) {
      MemorySegment ofPosts = arena.allocate(JAVA_LONG, postTimes.length);
      MemorySegment ofRounds = arena.allocate(JAVA_LONG, rounds.length);
      requireSuccess(
          (int)
              posts.invokeExact(
                  pair.queuePair().segment(),
                  bench.completions.segment(),
                  bench.memory.segment(),
                  (long) Bench.HALF,
                  batch,
                  ofPosts,
                  ofRounds,
                  rounds.length));
      copy(ofPosts, postTimes);
      copy(ofRounds, rounds);
    } catch (Throwable t) {
      throw failure(t);
    }
  }

  private static void requireSuccess(int result) {
    if (result != 0) {
      throw new IllegalStateException("a loop in C failed: " + result);
    }
  }

  private static void copy(MemorySegment samples, long[] times) {
    MemorySegment.copy(samples, JAVA_LONG, 0, times, 0, times.length);
  }

  private static IllegalStateException failure(Throwable t) {
    if (t instanceof Error error) {
      throw error;
    }
    return t instanceof IllegalStateException e ? e : new IllegalStateException(t);
  }
}
