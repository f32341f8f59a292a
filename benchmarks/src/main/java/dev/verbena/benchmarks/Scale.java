package dev.verbena.benchmarks;

import static java.lang.foreign.ValueLayout.ADDRESS;
import static java.lang.foreign.ValueLayout.JAVA_INT;
import static java.lang.foreign.ValueLayout.JAVA_LONG;

import dev.verbena.values.AccessFlag;
import dev.verbena.values.QueuePairCapacity;
import dev.verbena.values.QueuePairType;
import dev.verbena.verbs.CompletionQueue;
import dev.verbena.verbs.Context;
import dev.verbena.verbs.Device;
import dev.verbena.verbs.ProtectionDomain;
import dev.verbena.verbs.QueuePair;
import dev.verbena.verbs.QueuePairBuilder;
import dev.verbena.verbs.Resource;
import java.io.IOException;
import java.lang.foreign.Arena;
import java.lang.foreign.FunctionDescriptor;
import java.lang.foreign.Linker;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.SymbolLookup;
import java.lang.invoke.MethodHandle;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.Locale;
import java.util.function.Supplier;
import java.util.stream.Stream;

/**
 * Creates and closes many objects of one kind: {@code Scale KIND COUNT}, where the kind is {@code
 * mr} or {@code qp}.
 *
 * <p>It prints a row of a table, of microseconds per object: creating; in C, with {@code
 * -Dbenchmarks.loops=LIBRARY}; closing the newest first, the oldest first, and by the context; in
 * C; and bytes per object, of the heap after a collection, and in C of the resident memory.
 */
public final class Scale {
  private static final int ROUNDS = 3;
  private static final int WARM_UP = 2000;
  private static final long MEMORY = 4096;

  private final Arena arena = Arena.ofShared();
  private final MemorySegment memory = arena.allocate(MEMORY, MEMORY);
  private final String kind;
  private final int count;

  private Scale(String kind, int count) {
    this.kind = kind;
    this.count = count;
  }

  /** An open device with what objects are created on. */
  private record Parents(Context context, ProtectionDomain domain, CompletionQueue queue) {
    static Parents open() {
      Context context = Device.list().getFirst().open();
      return new Parents(
          context,
          context.allocateProtectionDomain(),
          context.completionQueue(16).withoutCapacityWarning().create());
    }
  }

  private Supplier<Resource> maker(Parents parents) {
    if (kind.equals("mr")) {
      return () -> parents.domain.registerMemory(memory, AccessFlag.LOCAL_WRITE);
    }
    QueuePairBuilder builder =
        QueuePair.builder(parents.domain, QueuePairType.RC)
            .completions(parents.queue)
            .capacity(QueuePairCapacity.of(16));
    return builder::create;
  }

  private List<Resource> create(Parents parents) {
    Supplier<Resource> maker = maker(parents);
    List<Resource> made = new ArrayList<>(count);
    for (int i = 0; i < count; i++) {
      made.add(maker.get());
    }
    return made;
  }

  private double perObject(long begun) {
    return (System.nanoTime() - begun) / 1e3 / count;
  }

  /** The bytes of live objects in the heap. */
  static long heap() {
    for (int i = 0; i < 3; i++) {
      System.gc(); // Weak references and cleaners take more than one.
    }
    return Runtime.getRuntime().totalMemory() - Runtime.getRuntime().freeMemory();
  }

  /** A number that the kernel has of this process, of memory in KiB. */
  static long status(String name) throws IOException {
    try (Stream<String> lines = Files.lines(Path.of("/proc/self/status"))) {
      return lines
          .filter(line -> line.startsWith(name))
          .mapToLong(line -> Long.parseLong(line.replaceAll("\\D", "")))
          .findFirst()
          .orElseThrow();
    }
  }

  /** The least microseconds per object of some rounds: create, newest, oldest, context. */
  private double[] times() {
    double[] least = {Double.MAX_VALUE, Double.MAX_VALUE, Double.MAX_VALUE, Double.MAX_VALUE};
    for (int round = 0; round < ROUNDS; round++) {
      for (int order = 1; order < least.length; order++) {
        Parents parents = Parents.open();
        long begun = System.nanoTime();
        List<Resource> made = create(parents);
        least[0] = Math.min(least[0], perObject(begun));
        if (order == 1) {
          Collections.reverse(made);
        }
        begun = System.nanoTime();
        if (order < 3) {
          made.forEach(Resource::close);
        }
        parents.context.close();
        least[order] = Math.min(least[order], perObject(begun));
      }
    }
    return least;
  }

  private long bytes() {
    Parents parents = Parents.open();
    long before = heap();
    List<Resource> made = create(parents);
    long bytes = (heap() - before) / made.size();
    parents.context.close();
    return bytes;
  }

  /** What C needs for the same objects: create, destroy, bytes. */
  private double[] inC() throws Throwable {
    SymbolLookup loops =
        SymbolLookup.libraryLookup(System.getProperty("benchmarks.loops"), Arena.global());
    MethodHandle create =
        Linker.nativeLinker()
            .downcallHandle(
                loops.find(kind + "_create").orElseThrow(),
                FunctionDescriptor.of(JAVA_INT, ADDRESS, ADDRESS, ADDRESS, JAVA_LONG, ADDRESS));
    MethodHandle destroy =
        Linker.nativeLinker()
            .downcallHandle(
                loops.find(kind + "_destroy").orElseThrow(),
                FunctionDescriptor.of(JAVA_INT, JAVA_LONG, ADDRESS));
    MemorySegment objects = arena.allocate(JAVA_LONG, count).fill((byte) 0);
    double[] least = {Double.MAX_VALUE, Double.MAX_VALUE, 0};
    for (int round = 0; round < ROUNDS; round++) {
      Parents parents = Parents.open();
      long before = status("RssAnon:");
      long begun = System.nanoTime();
      require(
          (int)
              create.invokeExact(
                  parents.domain.segment(),
                  parents.queue.segment(),
                  memory,
                  (long) count,
                  objects));
      least[0] = Math.min(least[0], perObject(begun));
      if (round == 0) {
        least[2] = 1024.0 * (status("RssAnon:") - before) / count;
      }
      begun = System.nanoTime();
      require((int) destroy.invokeExact((long) count, objects));
      least[1] = Math.min(least[1], perObject(begun));
      parents.context.close();
    }
    return least;
  }

  private static void require(int result) {
    if (result != 0) {
      throw new IllegalStateException("the C loop failed: " + result);
    }
  }

  /** Measures one kind and count. */
  public static void main(String[] arguments) throws Throwable {
    Scale scale = new Scale(arguments[0], Integer.parseInt(arguments[1]));
    double[] c = System.getProperty("benchmarks.loops") == null ? null : scale.inC();
    new Scale(arguments[0], WARM_UP).times();
    double[] java = scale.times();
    long bytes = scale.bytes();
    // The heap has grown and shrunk by more than that of few objects.
    boolean areMany = scale.count >= WARM_UP && bytes > 0;
    System.out.printf(
        Locale.ROOT,
        "| %d %s, %s | %.2f | %s | %.2f | %.2f | %.2f | %s | %s | %s |%n",
        scale.count,
        scale.kind.equals("mr") ? "memory regions" : "queue pairs",
        Device.list().getFirst().name(),
        java[0],
        c == null ? "-" : "%.2f".formatted(c[0]),
        java[1],
        java[2],
        java[3],
        c == null ? "-" : "%.2f".formatted(c[1]),
        areMany ? "" + bytes : "-",
        c == null || !areMany ? "-" : "%.0f".formatted(Math.max(0, c[2])));
  }
}
