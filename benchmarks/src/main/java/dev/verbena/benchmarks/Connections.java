package dev.verbena.benchmarks;

import dev.verbena.cm.Endpoint;
import dev.verbena.cm.Listener;
import dev.verbena.messages.Connection;
import dev.verbena.messages.ConnectionSettings;
import java.io.IOException;
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
 */
public final class Connections {
  private static final ConnectionSettings SETTINGS =
      ConnectionSettings.DEFAULT
          .withMessageSize(128)
          .withSends(1)
          .withReceives(1)
          .withTimeout(Duration.ofMinutes(10));

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
    long descriptors = descriptors();
    long heap = Scale.heap();
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
      long open = descriptors() - descriptors;
      long tasks = Scale.status("Threads:");
      long bytes = (Scale.heap() - heap) / count;
      long resident = Scale.status("VmRSS:");
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

  private static long descriptors() throws IOException {
    try (Stream<Path> all = Files.list(Path.of("/proc/self/fd"))) {
      return all.count();
    }
  }

  /** Measures one number of connections. */
  public static void main(String[] arguments) throws Exception {
    String from = arguments[1];
    String to = arguments[2];
    new Connections(2, from, to).measure(true);
    new Connections(Integer.parseInt(arguments[0]), from, to).measure(false);
  }
}
