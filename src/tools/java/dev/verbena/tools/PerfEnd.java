package dev.verbena.tools;

import dev.verbena.VerbsException;
import dev.verbena.tools.command.Link;
import dev.verbena.verbs.ReceiveList;
import dev.verbena.verbs.RemoteMemory;
import dev.verbena.verbs.SendList;
import java.io.IOException;
import java.lang.foreign.ValueLayout;
import java.time.Duration;

/**
 * One end of a measurement: connected, with the description of the peer's buffer.
 *
 * <p>The buffer has two messages, one to send from and one to receive to, the number of operations
 * that this end has completed, which a waiting peer reads, and for each size the time that the
 * transfer of this end took.
 */
abstract class PerfEnd implements AutoCloseable {
  private static final int RECEIVES = Link.DEPTH;

  /** The time between two looks at the peer. */
  static final Duration PAUSE = Duration.ofSeconds(2);

  private final PerfTask task;
  private final Link link;
  private final Duration timeout;
  private RemoteMemory remote;

  /**
   * Creates an end.
   *
   * @param timeout the time within which the peer must answer
   */
  PerfEnd(PerfTask task, Link link, Duration timeout) {
    this.task = task;
    this.link = link;
    this.timeout = timeout;
    link.setWaiting(task.patience(timeout), task.plan().events());
  }

  /** Returns the size of the buffer of an end. */
  static long bufferSize(PerfTask task) {
    return peerDurationOffset(task) + Long.BYTES;
  }

  private static long counterOffset(PerfTask task) {
    return Math.ceilDiv(2L * task.size(), Long.BYTES) * Long.BYTES;
  }

  /** Returns the offset of the time that a transfer took, of the size with this index. */
  private static long durationOffset(PerfTask task, int index) {
    return counterOffset(task) + (1L + index) * Long.BYTES;
  }

  /** Returns the offset of what is read of the peer, where the peer does not write. */
  private static long peerDurationOffset(PerfTask task) {
    return durationOffset(task, task.sizes().size());
  }

  /** Posts receive requests if the operation is send, before the peer can send. */
  final void prepare() {
    if (task.operation() == PerfTask.Operation.SEND) {
      for (int i = 0; i < task.plan().queuePairs(); i++) {
        link.post(receives(RECEIVES, i), i);
      }
    }
  }

  final void knows(RemoteMemory memory) {
    remote = memory;
  }

  final PerfTask task() {
    return task;
  }

  final Link link() {
    return link;
  }

  final Duration timeout() {
    return timeout;
  }

  /**
   * Returns receive requests of a queue pair, whose index is the identifier of their completions.
   */
  final ReceiveList receives(int number, int connection) {
    ReceiveList receives = new ReceiveList(number, 1);
    for (int i = 0; i < number; i++) {
      receives.id(i, connection);
      receives.local(i, link.region(), task.size(), task.size());
    }
    return receives;
  }

  /**
   * Returns requests of the task's operation, of which the last is signaled.
   *
   * @param size the number of bytes of each
   * @param connection the index of the queue pair, which is the identifier of their completions
   */
  final SendList requests(int number, int size, int connection) {
    SendList list = new SendList(number, 1);
    long target = task.plan().polled() ? task.size() : 0; // Behind the message that the peer sends.
    for (int i = 0; i < number; i++) {
      switch (task.operation()) {
        case SEND -> list.send(i);
        case WRITE -> list.write(i).remote(remote.address() + target, remote.rkey());
        case READ -> list.read(i).remote(remote.address(), remote.rkey());
        case ATOMIC -> list.fetchAndAdd(i, 1).remote(remote.address(), remote.rkey());
      }
      list.id(i, connection);
      list.local(i, link.region(), 0, size);
    }
    list.signaled(number - 1);
    return list;
  }

  /** Sets the number of operations that this end has completed. */
  final void completed(long operations) {
    link.buffer().set(ValueLayout.JAVA_LONG, counterOffset(task), operations);
  }

  /** Sets the time that the transfer of the size with this index took, which the peer awaits. */
  final void took(int index, long nanos) {
    link.buffer().set(ValueLayout.JAVA_LONG, durationOffset(task, index), nanos);
  }

  /** Returns what the peer has set by {@link #took}, as {@link #readOfDuration} has read it. */
  final long durationOfPeer() {
    return link.buffer().get(ValueLayout.JAVA_LONG, peerDurationOffset(task));
  }

  /**
   * Returns a request that reads the time that the peer's transfer took; 0 until it has ended.
   *
   * @param id the identifier of its completion
   */
  final SendList readOfDuration(int index, long id) {
    return read(durationOffset(task, index), peerDurationOffset(task), id);
  }

  private SendList read(long from, long to, long id) {
    SendList read = new SendList(1, 1);
    read.read(0).id(id).remote(remote.address() + from, remote.rkey()).signaled();
    read.local(0, link.region(), to, Long.BYTES);
    return read;
  }

  /** Notifies the peer that no operation is outstanding. */
  abstract void leave() throws IOException, InterruptedException;

  /**
   * Waits for the peer's notification as long as the peer completes operations. A peer that has
   * stopped does not, although its device answers.
   */
  final void awaitLeave() throws IOException, InterruptedException {
    long offset = counterOffset(task);
    SendList read = read(offset, offset, 0);
    Duration limit = task.patience(timeout);
    long known = -1;
    long since = System.nanoTime();
    while (!hasLeft(PAUSE) && isReadable(read)) {
      long now = link.buffer().get(ValueLayout.JAVA_LONG, offset);
      if (now != known) {
        known = now;
        since = System.nanoTime();
      } else if (System.nanoTime() - since > limit.toNanos()) {
        throw new IllegalStateException(
            "the peer is connected but within %d s has neither completed an operation nor sent the end of its measurement"
                .formatted(limit.toSeconds()));
      }
    }
  }

  /** Waits for the peer's notification for some time; returns whether it came. */
  abstract boolean hasLeft(Duration time) throws IOException, InterruptedException;

  /** Returns why a request has failed, which may be that the peer has left. */
  RuntimeException causeOf(RuntimeException failure) throws InterruptedException {
    return failure;
  }

  /** Reads from the peer's memory; returns false if the peer has left meanwhile. */
  private boolean isReadable(SendList read) throws IOException, InterruptedException {
    try {
      link.post(read);
      link.await(1);
      return true;
    } catch (IllegalStateException | VerbsException e) {
      // The end of a connection flushes the request, and is known a moment later.
      if (!hasLeft(PAUSE)) {
        throw e;
      }
      return false;
    }
  }

  @Override
  public void close() throws IOException {
    link.close();
  }
}
