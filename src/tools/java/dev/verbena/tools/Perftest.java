package dev.verbena.tools;

import dev.verbena.tools.PerfTask.Operation;
import dev.verbena.tools.command.DeviceOptions;
import dev.verbena.tools.command.Peer;
import dev.verbena.tools.qualify.InstalledPrograms;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.TimeUnit;

/** The programs of perftest at both ends, for RC connected over TCP. */
enum Perftest {
  /** Latency of send. */
  SEND_LATENCY("ib_send_lat", Operation.SEND, 64, 4),
  /** Latency of write. */
  WRITE_LATENCY("ib_write_lat", Operation.WRITE, 64, 4),
  /** Latency of read. */
  READ_LATENCY("ib_read_lat", Operation.READ, 64, 4),
  /** Bandwidth of write. */
  WRITE_BANDWIDTH("ib_write_bw", Operation.WRITE, 65536, 3);

  private static final Duration LIMIT = Duration.ofSeconds(30);

  /** The state of a TCP socket that listens, in /proc/net/tcp. */
  private static final String LISTENS = "0A";

  private final String program;
  private final Operation operation;
  private final int size;

  /** The index of the typical latency in microseconds, or of the average bandwidth in MiB/s. */
  private final int column;

  Perftest(String program, Operation operation, int size, int column) {
    this.program = program;
    this.operation = operation;
    this.size = size;
    this.column = column;
  }

  Operation operation() {
    return operation;
  }

  int size() {
    return size;
  }

  boolean isLatency() {
    return this != WRITE_BANDWIDTH;
  }

  /** Requires a device that C programs can use, and all programs. */
  static void require(DeviceOptions device) throws ImpossibleException {
    if (device.device().sysfsPath().isEmpty()) {
      throw new ImpossibleException("C programs cannot use a software device");
    }
    for (Perftest test : values()) {
      if (!InstalledPrograms.isInstalled(test.program)) {
        throw new ImpossibleException(test.program + " of perftest is not installed");
      }
    }
  }

  private Process start(DeviceOptions device, int port, int number, List<String> more)
      throws IOException {
    String options =
        "-F -d %s -i %d -x %d -s %d -n %d -p %d"
            .formatted(
                device.device().name(), device.port(), device.chosenGidIndex(), size, number, port);
    List<String> command = new ArrayList<>(List.of((program + " " + options).split(" ")));
    command.addAll(more);
    return new ProcessBuilder(command).redirectErrorStream(true).start();
  }

  /** Runs the server of a program for a client that is connected. */
  static void serve(Peer peer, DeviceOptions device, int port)
      throws IOException, InterruptedException {
    Perftest test = valueOf(peer.receiveText("a program"));
    int number = Integer.parseInt(peer.receiveText("a number of operations"));
    require(device);
    Process server = test.start(device, port, number, List.of());
    try {
      long start = System.nanoTime();
      while (server.isAlive() && !listens(port)) {
        if (System.nanoTime() - start > LIMIT.toNanos()) {
          throw new IOException(test.program + " does not listen");
        }
        Thread.sleep(10);
      }
      ImpossibleException.yes(peer, "");
      String _ = test.output(server);
    } finally {
      server.destroyForcibly();
    }
  }

  private static boolean listens(int port) {
    String ending = ":%04X".formatted(port);
    return List.of("/proc/net/tcp", "/proc/net/tcp6").stream()
        .flatMap(file -> Machine.THIS.lines(file).stream())
        .map(line -> line.strip().split("\\s+", -1))
        .anyMatch(row -> row.length > 3 && row[1].endsWith(ending) && row[3].equals(LISTENS));
  }

  /** Runs the client; returns typical microseconds, or MiB/s. */
  double measure(Peer peer, DeviceOptions device, String host, int port, int number)
      throws IOException, InterruptedException {
    peer.sendText(name());
    peer.sendText("" + number);
    String _ = ImpossibleException.requireYes(peer);
    Process client = start(device, port, number, List.of(host));
    try {
      return parse(output(client));
    } finally {
      client.destroyForcibly();
    }
  }

  private String output(Process process) throws IOException, InterruptedException {
    // A page of text: it fits into the pipe while nobody reads.
    if (!process.waitFor(LIMIT.toMillis(), TimeUnit.MILLISECONDS)) {
      throw new IOException(program + " has not ended within " + LIMIT.toSeconds() + " s");
    }
    String text = new String(process.getInputStream().readAllBytes(), StandardCharsets.UTF_8);
    if (process.exitValue() != 0) {
      throw new IOException(
          "%s: exit status %d: %s"
              .formatted(program, process.exitValue(), text.strip().lines().toList()));
    }
    return text;
  }

  /** Returns the figure of the row that begins with the size. */
  double parse(String output) throws IOException {
    for (String line : output.lines().toList()) {
      String[] columns = line.strip().split("\\s+", -1);
      if (columns.length > column && columns[0].equals("" + size)) {
        return Double.parseDouble(columns[column]);
      }
    }
    throw new IOException(program + " has printed no row of " + size + " bytes");
  }
}
