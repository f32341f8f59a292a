package dev.verbena.tools;

import dev.verbena.cm.RemoteMemory;
import dev.verbena.verbs.Device;
import dev.verbena.verbs.QueuePair;
import dev.verbena.verbs.QueuePairAddress;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.time.Duration;
import java.util.Arrays;
import java.util.List;
import java.util.Optional;

/** An end whose queue pair is connected by exchanging addresses over TCP. */
final class PerfTcpEnd extends PerfEnd {
  private final Peer peer;

  private static final String END = "the end of its measurement";

  private PerfTcpEnd(
      Peer peer, PerfTask task, Device device, DeviceOptions options, Duration timeout)
      throws IOException {
    super(task, new Link(device, bufferSize(task), task.plan().queuePairs()), timeout);
    this.peer = peer;
    try {
      link().queuePairs().forEach(queuePair -> options.apply(queuePair).init());
      prepare();
      exchange();
    } catch (IOException | RuntimeException e) {
      link().close();
      throw e;
    }
  }

  static PerfEnd serve(int port, DeviceOptions options, Duration timeout) throws IOException {
    return next(port, options, timeout)
        .orElseThrow(() -> new IOException("the client measures nothing"));
  }

  /** Waits for a client; returns an empty result if it has nothing to measure. */
  static Optional<PerfEnd> next(int port, DeviceOptions options, Duration timeout)
      throws IOException {
    Device device = options.checkedDevice();
    Peer peer = Peer.accept(port, timeout);
    byte[] task;
    try {
      task = peer.receive(PerfTask.SIZE, "what to measure");
    } catch (IOException e) {
      peer.close();
      throw e;
    }
    if (PerfTask.isEnd(task)) {
      peer.close();
      return Optional.empty();
    }
    return Optional.of(with(peer, () -> PerfTask.of(task), device, options, timeout));
  }

  /** Tells a server that there is nothing more to measure. */
  static void end(String host, int port, Duration timeout) throws IOException {
    try (Peer peer = Peer.connect(host, port, timeout)) {
      peer.send(PerfTask.end());
    }
  }

  static PerfEnd visit(
      String host, int port, PerfTask task, DeviceOptions options, Duration timeout)
      throws IOException {
    Device device = options.checkedDevice();
    Peer peer = Peer.connect(host, port, timeout);
    return with(
        peer,
        () -> {
          peer.send(task.bytes());
          return task;
        },
        device,
        options,
        timeout);
  }

  /** Makes the task known to both ends. */
  private interface Agreement {
    PerfTask reach() throws IOException;
  }

  private static PerfEnd with(
      Peer peer, Agreement agreement, Device device, DeviceOptions options, Duration timeout)
      throws IOException {
    try {
      return new PerfTcpEnd(peer, agreement.reach(), device, options, timeout);
    } catch (IOException | RuntimeException e) {
      peer.close();
      throw e;
    }
  }

  private void exchange() throws IOException {
    List<QueuePair> queuePairs = link().queuePairs();
    int addresses = queuePairs.size() * QueuePairAddress.SIZE;
    ByteBuffer own = ByteBuffer.allocate(addresses + RemoteMemory.SIZE);
    queuePairs.forEach(queuePair -> own.put(queuePair.localAddress().toBytes()));
    own.put(RemoteMemory.of(link().region()).toBytes());
    byte[] other = peer.exchange(own.array(), "the address of its queue pair");
    knows(RemoteMemory.fromBytes(Arrays.copyOfRange(other, addresses, other.length)));
    for (int i = 0; i < queuePairs.size(); i++) {
      int from = i * QueuePairAddress.SIZE;
      queuePairs
          .get(i)
          .connect(
              QueuePairAddress.fromBytes(
                  Arrays.copyOfRange(other, from, from + QueuePairAddress.SIZE)));
    }
    peer.meetAt('C', "that its queue pair is connected");
  }

  @Override
  void leave() throws IOException {
    peer.meetAt('E', END);
  }

  @Override
  boolean hasLeft(Duration time) throws IOException {
    boolean left = peer.comes(time, END);
    if (left) {
      leave();
    }
    return left;
  }

  @Override
  public void close() throws IOException {
    super.close();
    peer.close();
  }
}
