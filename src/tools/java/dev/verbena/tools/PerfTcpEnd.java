package dev.verbena.tools;

import dev.verbena.address.QueuePairAddress;
import dev.verbena.tools.command.DeviceOptions;
import dev.verbena.tools.command.Link;
import dev.verbena.tools.command.Peer;
import dev.verbena.verbs.QueuePair;
import dev.verbena.verbs.RemoteMemory;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.time.Duration;
import java.util.Arrays;
import java.util.List;

/** An end whose queue pair is connected by exchanging addresses over TCP. */
final class PerfTcpEnd extends PerfEnd {
  private final Peer peer;

  private static final String END = "the end of its measurement";

  private PerfTcpEnd(Peer peer, PerfTask task, DeviceOptions options, Duration timeout)
      throws IOException {
    super(task, new Link(options.device(), bufferSize(task), task.plan().queuePairs()), timeout);
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

  /** Serves a client that is connected, and sends the task. */
  static PerfEnd serve(Peer peer, DeviceOptions options, Duration timeout) throws IOException {
    try {
      PerfTask task = PerfTask.of(peer.receive(PerfTask.SIZE, "what to measure"));
      return new PerfTcpEnd(peer, task, options, timeout);
    } catch (IOException | RuntimeException e) {
      peer.close();
      throw e;
    }
  }

  /** Sends the task to a server that is connected. */
  static PerfEnd visit(Peer peer, PerfTask task, DeviceOptions options, Duration timeout)
      throws IOException {
    try {
      peer.send(task.bytes());
      return new PerfTcpEnd(peer, task, options, timeout);
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
