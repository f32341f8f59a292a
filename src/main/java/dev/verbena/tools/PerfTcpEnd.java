package dev.verbena.tools;

import dev.verbena.cm.RemoteMemory;
import dev.verbena.verbs.Device;
import dev.verbena.verbs.QueuePairAddress;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.util.Arrays;

/** An end whose queue pair is connected by exchanging addresses over TCP. */
final class PerfTcpEnd extends PerfEnd {
  private final Peer peer;

  private PerfTcpEnd(Peer peer, PerfTask task, Device device, DeviceOptions options)
      throws IOException {
    super(task, new Link(device, 2L * task.size()));
    this.peer = peer;
    try {
      options.apply(link().queuePair()).init();
      prepare();
      exchange();
    } catch (IOException | RuntimeException e) {
      link().close();
      throw e;
    }
  }

  static PerfEnd serve(int port, DeviceOptions options) throws IOException {
    Device device = options.device(); // A wrong name fails now, not when a client connects.
    Peer peer = Peer.accept(port);
    return with(peer, () -> PerfTask.of(peer.receive(PerfTask.SIZE)), device, options);
  }

  static PerfEnd visit(String host, int port, PerfTask task, DeviceOptions options)
      throws IOException {
    Device device = options.device();
    Peer peer = Peer.connect(host, port);
    return with(
        peer,
        () -> {
          peer.send(task.bytes());
          return task;
        },
        device,
        options);
  }

  /** Makes the task known to both ends. */
  private interface Agreement {
    PerfTask reach() throws IOException;
  }

  private static PerfEnd with(Peer peer, Agreement agreement, Device device, DeviceOptions options)
      throws IOException {
    try {
      return new PerfTcpEnd(peer, agreement.reach(), device, options);
    } catch (IOException | RuntimeException e) {
      peer.close();
      throw e;
    }
  }

  private void exchange() throws IOException {
    byte[] own =
        ByteBuffer.allocate(QueuePairAddress.SIZE + RemoteMemory.SIZE)
            .put(link().address().toBytes())
            .put(RemoteMemory.of(link().region()).toBytes())
            .array();
    byte[] other = peer.exchange(own);
    knows(RemoteMemory.fromBytes(Arrays.copyOfRange(other, QueuePairAddress.SIZE, other.length)));
    link()
        .queuePair()
        .connect(QueuePairAddress.fromBytes(Arrays.copyOf(other, QueuePairAddress.SIZE)));
    peer.meetAt('C');
  }

  @Override
  void leave() throws IOException {
    peer.meetAt('E');
  }

  @Override
  void awaitLeave() throws IOException {
    peer.meetAt('E');
  }

  @Override
  public void close() throws IOException {
    super.close();
    peer.close();
  }
}
