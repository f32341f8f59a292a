package dev.verbena.tools;

import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Option;
import picocli.CommandLine.Parameters;

/** What both measurements are asked for. The server is told by the client, and needs none of it. */
final class PerfOptions {
  @Mixin private DeviceOptions device;

  @Option(
      names = {"-o", "--op"},
      paramLabel = "OP",
      description = "${COMPLETION-CANDIDATES}; default: ${DEFAULT-VALUE}.")
  private PerfTask.Operation operation = PerfTask.Operation.SEND;

  @Option(
      names = {"-s", "--size"},
      paramLabel = "BYTES",
      description =
          "Size of a message; 8 for atomics. Default: 64 for latency, 65536 for bandwidth.")
  private Integer size;

  @Option(
      names = {"-n", "--iters"},
      paramLabel = "N",
      description = "How many; default: ${DEFAULT-VALUE}.")
  private int iterations = 5000;

  @Option(
      names = {"-w", "--warm-up"},
      paramLabel = "N",
      description = "How many before those, not counted; default: ${DEFAULT-VALUE}.")
  private int warmUp = 2000;

  @Option(
      names = {"-p", "--port"},
      paramLabel = "PORT",
      description = "TCP port to listen on or to connect to; default: ${DEFAULT-VALUE}.")
  private int tcpPort = 18516;

  @Option(names = "--json", description = "Write JSON.")
  private boolean json;

  @Option(names = "--chart", paramLabel = "FILE", description = "Write a chart, as SVG.")
  private Path chart;

  @Parameters(arity = "0..1", paramLabel = "HOST", description = "The server to connect to.")
  private String host;

  DeviceOptions device() {
    return device;
  }

  boolean isServer() {
    return host == null;
  }

  boolean json() {
    return json;
  }

  int warmUp() {
    return warmUp;
  }

  int iterations() {
    return iterations;
  }

  Peer meet() throws IOException {
    return Peer.meet(host, tcpPort);
  }

  PerfTask task(int usualSize) {
    boolean atomic = operation == PerfTask.Operation.ATOMIC;
    int wanted = size != null ? size : usualSize;
    return new PerfTask(operation, atomic ? Long.BYTES : wanted, warmUp, iterations);
  }

  void write(Chart drawn) throws IOException {
    if (chart != null) {
      Files.writeString(chart, drawn.svg(), StandardCharsets.UTF_8);
    }
  }
}
