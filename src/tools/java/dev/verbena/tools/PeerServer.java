package dev.verbena.tools;

import dev.verbena.RdmaException;
import dev.verbena.VerbsException;
import dev.verbena.cm.Endpoint;
import dev.verbena.cm.Listener;
import dev.verbena.sockets.RdmaSelectorProvider;
import dev.verbena.tools.command.DeviceOptions;
import dev.verbena.tools.command.Peer;
import java.io.IOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.nio.channels.spi.SelectorProvider;
import java.time.Duration;
import java.util.function.Consumer;

/** Serves the measurements of {@code qualify --peer}, until the client ends them. */
final class PeerServer {
  /** The port of perftest's programs, counted from that of the server. */
  static final int PERFTEST_PORT = 1;

  private static final int MAX_FAILURES = 4;

  private final int port;
  private final DeviceOptions device;
  private final Duration timeout;

  PeerServer(int port, DeviceOptions device, Duration timeout) {
    this.port = port;
    this.device = device;
    this.timeout = timeout;
  }

  /**
   * Serves.
   *
   * @param told is given the message of each measurement that fails
   * @throws IOException if several in a row fail
   */
  void run(Consumer<String> told) throws IOException, InterruptedException {
    device.checkedDevice();
    int failures = 0;
    while (true) {
      try (Peer peer = Peer.accept(port, timeout)) {
        PeerKind kind = PeerKind.valueOf(peer.receiveText("what to measure"));
        if (kind == PeerKind.END) {
          return;
        }
        try {
          serve(kind, peer);
        } catch (ImpossibleException e) {
          ImpossibleException.no(peer, e.getMessage());
        }
        failures = 0;
      } catch (IOException | RdmaException | IllegalStateException | IllegalArgumentException e) {
        told.accept("a measurement failed: " + e.getMessage());
        failures++;
        if (failures > MAX_FAILURES) {
          throw new IOException("several measurements in a row failed: " + e.getMessage(), e);
        }
      }
    }
  }

  private void serve(PeerKind kind, Peer peer) throws IOException, InterruptedException {
    switch (kind) {
      case RC -> serve(PerfTcpEnd.serve(peer, device, timeout));
      case UD -> {
        try (Datagrams end = new Datagrams(peer, task(peer), device)) {
          end.serve();
        }
      }
      case CM -> serveCm(peer);
      case RDMA_SOCKET -> serveStream(RdmaSelectorProvider.provider(), peer);
      case TCP_SOCKET -> serveStream(SelectorProvider.provider(), peer);
      case PERFTEST -> Perftest.serve(peer, device, port + PERFTEST_PORT);
      case END -> throw new IllegalArgumentException("the end is not a measurement");
    }
  }

  private static PerfTask task(Peer peer) throws IOException {
    return PerfTask.of(peer.receive(PerfTask.SIZE, "what to measure"));
  }

  /** Serves the client of an end, which is closed afterwards. */
  static void serve(PerfEnd connected) throws IOException, InterruptedException {
    try (PerfEnd end = connected) {
      if (end.task().plan().stream()) {
        new PerfStream(end).serve();
      } else {
        new PerfRally(end).serve();
      }
    } catch (IllegalStateException | VerbsException e) {
      throw connected.causeOf(e);
    }
  }

  private void serveCm(Peer peer) throws IOException, InterruptedException {
    InetAddress local = device.address(peer);
    Listener opened;
    try {
      opened = Listener.open(new InetSocketAddress(local, 0));
    } catch (RdmaException | IllegalStateException e) {
      throw new ImpossibleException("no RDMA CM on the address of the device: " + e.getMessage());
    }
    Endpoint client;
    try (Listener listener = opened) {
      ImpossibleException.yes(peer, local.getHostAddress() + " " + listener.port());
      client = listener.poll(timeout);
    }
    if (client == null) {
      throw new IOException("no request over RDMA CM within " + timeout.toSeconds() + " s");
    }
    serve(PerfCmEnd.accept(client, timeout));
  }

  private void serveStream(SelectorProvider provider, Peer peer)
      throws IOException, InterruptedException {
    PerfTask task = task(peer);
    StreamEnd.serve(provider, device.address(peer), peer, task, task.patience(timeout));
  }
}
