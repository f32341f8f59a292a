package dev.verbena.tools;

import dev.verbena.cm.RemoteMemory;
import dev.verbena.verbs.Device;
import dev.verbena.verbs.QueuePairAddress;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.time.Duration;
import java.util.Arrays;

/** An end whose queue pair is connected by exchanging addresses over TCP. */
final class PerfTcpEnd extends PerfEnd {
  private final Peer peer;

  private static final String END = "the end of its measurement";

  private PerfTcpEnd(
      Peer peer, PerfTask task, Device device, DeviceOptions options, Duration timeout)
      throws IOException {
    super(task, new Link(device, bufferSize(task)), timeout);
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

  static PerfEnd serve(int port, DeviceOptions options, Duration timeout) throws IOException {
    Device device = options.checkedDevice();
    Peer peer = Peer.accept(port, timeout);
    return with(
        peer,
        () -> PerfTask.of(peer.receive(PerfTask.SIZE, "what to measure")),
        device,
        options,
        timeout);
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
    byte[] own =
        ByteBuffer.allocate(QueuePairAddress.SIZE + RemoteMemory.SIZE)
            .put(link().address().toBytes())
            .put(RemoteMemory.of(link().region()).toBytes())
            .array();
    byte[] other = peer.exchange(own, "the address of its queue pair");
    knows(RemoteMemory.fromBytes(Arrays.copyOfRange(other, QueuePairAddress.SIZE, other.length)));
    link()
        .queuePair()
        .connect(QueuePairAddress.fromBytes(Arrays.copyOf(other, QueuePairAddress.SIZE)));
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
