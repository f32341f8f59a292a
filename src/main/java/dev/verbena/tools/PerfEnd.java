package dev.verbena.tools;

import dev.verbena.cm.RemoteMemory;
import dev.verbena.verbs.ReceiveList;
import dev.verbena.verbs.SendList;
import java.io.IOException;

/** One end of a measurement: connected, with the description of the peer's buffer. */
abstract class PerfEnd implements AutoCloseable {
  private static final int RECEIVES = Link.DEPTH;

  private final PerfTask task;
  private final Link link;
  private RemoteMemory remote;

  PerfEnd(PerfTask task, Link link) {
    this.task = task;
    this.link = link;
    link.setPatience(task.patience());
  }

  /** Posts receive requests if the operation is send, before the peer can send. */
  final void prepare() {
    if (task.operation() == PerfTask.Operation.SEND) {
      link.post(receives(RECEIVES));
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

  final ReceiveList receives(int number) {
    ReceiveList receives = new ReceiveList(number, 1);
    for (int i = 0; i < number; i++) {
      receives.local(i, link.region(), task.size(), task.size());
    }
    return receives;
  }

  /** Returns requests of the task's operation, of which the last is signaled. */
  final SendList requests(int number) {
    SendList list = new SendList(number, 1);
    for (int i = 0; i < number; i++) {
      switch (task.operation()) {
        case SEND -> list.send(i);
        case WRITE -> list.write(i).remote(remote.address(), remote.rkey());
        case READ -> list.read(i).remote(remote.address(), remote.rkey());
        case ATOMIC -> list.fetchAndAdd(i, 1).remote(remote.address(), remote.rkey());
      }
      list.local(i, link.region(), 0, task.size());
    }
    list.signaled(number - 1);
    return list;
  }

  /** Notifies the peer that no operation is outstanding. */
  abstract void leave() throws IOException, InterruptedException;

  /** Waits for the peer's notification. */
  abstract void awaitLeave() throws IOException, InterruptedException;

  @Override
  public void close() throws IOException {
    link.close();
  }
}
