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
    if (!InstalledPrograms.isInstalled(COMPILER)) {
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
    run(
        (samples, _) ->
            (int) emptyPolls.invokeExact(bench.completions.segment(), samples, times.length),
        times,
        new long[0]);
  }

  @Override
  public void posts(int batch, long[] postTimes, long[] rounds) {
    run(
        (ofPosts, ofRounds) ->
            (int)
                posts.invokeExact(
                    pair.queuePair().segment(),
                    bench.completions.segment(),
                    bench.memory.segment(),
                    (long) Bench.HALF,
                    batch,
                    ofPosts,
                    ofRounds,
                    rounds.length),
        postTimes,
        rounds);
  }

  /** A call of a function, which returns 0 if it succeeds. */
  private interface Call {
    int on(MemorySegment first, MemorySegment second) throws Throwable;
  }

  private static void run(Call call, long[] first, long[] second) {
    try (Arena arena = Arena.ofConfined()) {
      MemorySegment inFirst = arena.allocate(JAVA_LONG, first.length);
      MemorySegment inSecond = arena.allocate(JAVA_LONG, second.length);
      int result = call.on(inFirst, inSecond);
      if (result != 0) {
        throw new IllegalStateException("a loop in C failed: " + result);
      }
      MemorySegment.copy(inFirst, JAVA_LONG, 0, first, 0, first.length);
      MemorySegment.copy(inSecond, JAVA_LONG, 0, second, 0, second.length);
    } catch (Throwable t) {
      throw failure(t);
    }
  }

  private static IllegalStateException failure(Throwable t) {
    if (t instanceof Error error) {
      throw error;
    }
    return t instanceof IllegalStateException e ? e : new IllegalStateException(t);
  }
}
