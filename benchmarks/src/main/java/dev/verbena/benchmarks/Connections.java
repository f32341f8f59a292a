package dev.verbena.benchmarks;

import dev.verbena.cm.Connection;
import dev.verbena.cm.ConnectionSettings;
import dev.verbena.cm.Endpoint;
import dev.verbena.cm.Listener;
import java.io.File;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.net.InetSocketAddress;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.concurrent.Callable;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.stream.Stream;

/**
 * Connects many pairs through one listener in one process: {@code Connections COUNT FROM TO}, with
 * the addresses of two devices, and prints a row of a table: seconds to connect and to close,
 * descriptors and threads of the process, bytes in the heap for each pair, and the resident memory
 * of the process.
 *
 * <p>{@code Connections COUNT FROM TO PROGRAM} does the same with two processes of librdmacm's
 * {@code ucmatose} afterwards, and prints a second row with the sums of both.
 */
public final class Connections {
  private static final ConnectionSettings SETTINGS =
      ConnectionSettings.DEFAULT
          .withMessageSize(128)
          .withSends(1)
          .withReceives(1)
          .withTimeout(Duration.ofMinutes(10));
  private static final Path SELF = Path.of("/proc/self");

  private final int count;
  private final InetSocketAddress from;
  private final String to;

  private Connections(int count, String from, String to) {
    this.count = count;
    this.from = new InetSocketAddress(from, 0);
    this.to = to;
  }

  /** Connects and closes some pairs, and prints the row if it is not a warm-up. */
  private void measure(boolean warmUp) throws Exception {
    long descriptors = descriptors(SELF);
    long heap = heap();
    try (ExecutorService threads = Executors.newVirtualThreadPerTaskExecutor();
        Listener listener = Listener.open(new InetSocketAddress(to, 0))) {
      InetSocketAddress peer = new InetSocketAddress(to, listener.port());
      long begun = System.nanoTime();
      List<Future<Connection>> ends = new ArrayList<>();
      for (int i = 0; i < count; i++) {
        ends.add(threads.submit(() -> Connection.connect(peer, SETTINGS.withLocalAddress(from))));
      }
      for (int i = 0; i < count; i++) {
        Endpoint request = listener.take();
        ends.add(threads.submit(() -> Connection.accept(request, SETTINGS)));
      }
      for (Future<Connection> end : ends) {
        end.get();
      }
      double connecting = (System.nanoTime() - begun) / 1e9;
      long open = descriptors(SELF) - descriptors;
      long tasks = status(SELF, "Threads:");
      long bytes = (heap() - heap) / count;
      long resident = status(SELF, "VmRSS:");
      begun = System.nanoTime();
      List<Future<?>> closing = new ArrayList<>();
      for (Future<Connection> end : ends) {
        Callable<?> close =
            () -> {
              end.get().close();
              return null;
            };
        closing.add(threads.submit(close));
      }
      for (Future<?> close : closing) {
        close.get();
      }
      if (!warmUp) {
        System.out.printf(
            Locale.ROOT,
            "| %d, Java | %.2f | %.2f | %d | %d | %d | %d |%n",
            count,
            connecting,
            (System.nanoTime() - begun) / 1e9,
            open,
            tasks,
            bytes,
            resident / 1024);
      }
    }
  }

  /** Runs two processes of ucmatose, which send no messages and use completion queues of 1. */
  private void measureC(String program) throws Exception {
    List<String> server = List.of(program, "-b", to, "-c", "" + count, "-C", "0", "-p", "7499");
    List<String> client = new ArrayList<>(server);
    client.set(2, from.getAddress().getHostAddress());
    client.addAll(List.of("-s", to));
    Process serving = start(server);
    Thread.sleep(1000); // Until it listens.
    long begun = System.nanoTime();
    Process connecting = start(client);
    long descriptors = 0;
    long resident = 0;
    while (connecting.isAlive() && serving.isAlive()) {
      Thread.sleep(2);
      long open = descriptors(of(serving)) + descriptors(of(connecting));
      descriptors = Math.max(descriptors, open);
      resident =
          Math.max(resident, status(of(serving), "VmHWM:") + status(of(connecting), "VmHWM:"));
    }
    int failed = connecting.waitFor() + serving.waitFor();
    System.out.printf(
        Locale.ROOT,
        "| %d, ucmatose%s | %.2f together | | %d | 2 | - | %d |%n",
        count,
        failed == 0 ? "" : " (failed)",
        (System.nanoTime() - begun) / 1e9,
        descriptors,
        resident / 1024);
  }

  private static Process start(List<String> command) throws IOException {
    return new ProcessBuilder(command)
        .redirectErrorStream(true)
        .redirectOutput(new File("/dev/null"))
        .start();
  }

  private static Path of(Process process) {
    return Path.of("/proc", "" + process.pid());
  }

  private static long descriptors(Path process) {
    try (Stream<Path> all = Files.list(process.resolve("fd"))) {
      return all.count();
    } catch (IOException e) {
      return 0; // The process has ended.
    }
  }

  private static long status(Path process, String name) {
    try (Stream<String> lines = Files.lines(process.resolve("status"))) {
      return lines
          .filter(line -> line.startsWith(name))
          .mapToLong(line -> Long.parseLong(line.replaceAll("\\D", "")))
          .findFirst()
          .orElse(0);
    } catch (IOException | UncheckedIOException e) {
      return 0; // The process has ended.
    }
  }

  private static long heap() {
    for (int i = 0; i < 3; i++) {
      System.gc();
    }
    return Runtime.getRuntime().totalMemory() - Runtime.getRuntime().freeMemory();
  }

  /** Measures one number of connections. */
  public static void main(String[] arguments) throws Exception {
    String from = arguments[1];
    String to = arguments[2];
    new Connections(2, from, to).measure(true);
    Connections connections = new Connections(Integer.parseInt(arguments[0]), from, to);
    connections.measure(false);
    if (arguments.length > 3) {
      connections.measureC(arguments[3]);
    }
  }
}
