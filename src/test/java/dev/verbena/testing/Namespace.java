package dev.verbena.testing;

import static java.lang.foreign.ValueLayout.ADDRESS;
import static java.lang.foreign.ValueLayout.JAVA_INT;

import java.lang.foreign.Arena;
import java.lang.foreign.FunctionDescriptor;
import java.lang.foreign.Linker;
import java.lang.foreign.MemoryLayout;
import java.lang.foreign.MemorySegment;
import java.lang.invoke.MethodHandle;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.Callable;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.FutureTask;

/**
 * Runs code in another network namespace, in a thread of its own that enters it ({@code setns(2)}):
 * sockets that the code opens, and platform threads that it starts, stay there. Carriers of virtual
 * threads are brought back, for the tests that follow: the thread that makes a virtual thread
 * runnable may start a new one, which inherits its namespace.
 */
public final class Namespace {
  private static final int O_RDONLY = 0;
  private static final int CLONE_NEWNET = 0x40000000;

  private static final int CARRIERS =
      Integer.getInteger(
          "jdk.virtualThreadScheduler.parallelism", Runtime.getRuntime().availableProcessors());

  private static final MethodHandle OPEN =
      Linker.nativeLinker()
          .downcallHandle(
              Linker.nativeLinker().defaultLookup().find("open").orElseThrow(),
              FunctionDescriptor.of(JAVA_INT, ADDRESS, JAVA_INT),
              Linker.Option.firstVariadicArg(2));
  private static final MethodHandle SETNS = handle("setns", JAVA_INT, JAVA_INT);
  private static final MethodHandle CLOSE = handle("close", JAVA_INT);

  private Namespace() {}

  private static MethodHandle handle(String function, MemoryLayout... arguments) {
    return Linker.nativeLinker()
        .downcallHandle(
            Linker.nativeLinker().defaultLookup().find(function).orElseThrow(),
            FunctionDescriptor.of(JAVA_INT, arguments));
  }

  /** Calls code in the namespace that {@code ip netns} gave a name. */
  public static <T> T call(String name, Callable<T> code) throws Exception {
    FutureTask<T> task =
        new FutureTask<>(
            () -> {
              enter("/run/netns/" + name);
              return code.call();
            });
    Thread.ofPlatform().name("namespace-" + name).start(task);
    try {
      return task.get();
    } finally {
      bringCarriersBack();
    }
  }

  /** Occupies all carriers at once, so that none is left out. */
  private static void bringCarriersBack() throws InterruptedException {
    CountDownLatch missing = new CountDownLatch(CARRIERS);
    List<Thread> threads = new ArrayList<>();
    for (int i = 0; i < CARRIERS; i++) {
      threads.add(
          Thread.startVirtualThread(
              () -> {
                missing.countDown();
                while (missing.getCount() > 0) {
                  Thread.onSpinWait(); // Does not leave the carrier.
                }
                enter("/proc/self/ns/net"); // That of the first thread of the process.
              }));
    }
    for (Thread thread : threads) {
      thread.join();
    }
  }

  private static void enter(String file) {
    try (Arena arena = Arena.ofConfined()) {
      MemorySegment path = arena.allocateFrom(file);
      int descriptor = (int) OPEN.invokeExact(path, O_RDONLY);
      int failed = (int) SETNS.invokeExact(descriptor, CLONE_NEWNET);
      int _ = (int) CLOSE.invokeExact(descriptor);
      if (failed != 0) {
        throw new IllegalStateException("setns: cannot enter the network namespace of " + file);
      }
    } catch (RuntimeException | Error e) {
      throw e;
    } catch (Throwable t) {
      throw new AssertionError(t);
    }
  }
}
