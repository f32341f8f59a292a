package dev.verbena.tools;

import dev.verbena.verbs.QueuePairAddress;
import dev.verbena.verbs.ReceiveList;
import dev.verbena.verbs.SendList;
import java.io.IOException;
import java.nio.ByteBuffer;

/** One end of a measurement: connected, and knowing the other's buffer. */
final class PerfEnd implements AutoCloseable {
  private static final int RECEIVES = Link.DEPTH;

  private final Peer peer;
  private final PerfTask task;
  private final Link link;
  private long remoteAddress;
  private int remoteKey;

  private PerfEnd(Peer peer, PerfTask task, Link link) {
    this.peer = peer;
    this.task = task;
    this.link = link;
  }

  /** Opens the device, posts receives if there will be messages, and connects to the other end. */
  static PerfEnd connect(Peer peer, PerfTask task, DeviceOptions options) throws IOException {
    PerfEnd end = new PerfEnd(peer, task, new Link(options.device(), 2L * task.size()));
    try {
      options.apply(end.link.queuePair());
      end.link.queuePair().bringUp().init();
      if (task.operation() == PerfTask.Operation.SEND) {
        end.link.post(end.receives(RECEIVES));
      }
      end.exchange();
      return end;
    } catch (IOException | RuntimeException e) {
      end.close();
      throw e;
    }
  }

  private void exchange() throws IOException {
    ByteBuffer own = ByteBuffer.allocate(QueuePairAddress.SIZE + Long.BYTES + Integer.BYTES);
    own.put(link.address().bytes()).putLong(link.region().start()).putInt(link.region().rkey());
    ByteBuffer other = ByteBuffer.wrap(peer.exchange(own.array()));
    byte[] address = new byte[QueuePairAddress.SIZE];
    other.get(address);
    remoteAddress = other.getLong();
    remoteKey = other.getInt();
    link.queuePair().connect(QueuePairAddress.of(address));
    peer.meetAt('C');
  }

  Link link() {
    return link;
  }

  ReceiveList receives(int number) {
    ReceiveList receives = new ReceiveList(number, 1);
    for (int i = 0; i < number; i++) {
      receives.local(i, link.region(), task.size(), task.size());
    }
    return receives;
  }

  /** Requests of the task's operation, the last of which completes. */
  SendList requests(int number) {
    SendList list = new SendList(number, 1);
    for (int i = 0; i < number; i++) {
      switch (task.operation()) {
        case SEND -> list.send(i);
        case WRITE -> list.write(i).remote(remoteAddress, remoteKey);
        case READ -> list.read(i).remote(remoteAddress, remoteKey);
        case ATOMIC -> list.fetchAndAdd(i, 1).remote(remoteAddress, remoteKey);
      }
      list.local(i, link.region(), 0, task.size());
    }
    list.signaled(number - 1, true);
    return list;
  }

  /** Waits until the other end has come to the end as well. */
  void meet() throws IOException {
    peer.meetAt('E');
  }

  @Override
  public void close() {
    link.close();
  }
}
