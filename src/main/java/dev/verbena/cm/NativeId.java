package dev.verbena.cm;

import dev.verbena.internal.Librdmacm;
import java.util.concurrent.locks.ReentrantLock;

/**
 * One {@code rdma_cm_id}: the channel that C reports its events on, the groups it is in, and how it
 * is given back.
 */
final class NativeId {
  private final Librdmacm rdmacm;
  private final long address;
  private final boolean endpoint;
  private final JoinedGroups groups;

  /** Null in synchronous mode, where C waits on a channel of its own. */
  private volatile EventChannel channel;

  NativeId(Librdmacm rdmacm, long address, EventChannel channel, boolean endpoint) {
    this.rdmacm = rdmacm;
    this.address = address;
    this.channel = channel;
    this.endpoint = endpoint;
    this.groups = new JoinedGroups(rdmacm, address);
  }

  Librdmacm rdmacm() {
    return rdmacm;
  }

  long address() {
    return address;
  }

  EventChannel channel() {
    return channel;
  }

  JoinedGroups groups() {
    return groups;
  }

  /** Runs something that C must not be reading an event of the identifier during. */
  void whileNobodyReads(Runnable action) {
    boolean done;
    do {
      done = whileNobodyReads(channel, action);
    } while (!done);
  }

  /** False if the identifier has left the channel before that could be locked. */
  private boolean whileNobodyReads(EventChannel supposed, Runnable action) {
    if (supposed == null) {
      action.run();
      return true;
    }
    supposed.reading().lock();
    try {
      if (supposed != channel) {
        return false;
      }
      action.run();
      return true;
    } finally {
      supposed.reading().unlock();
    }
  }

  /**
   * Reports elsewhere from now on: {@code rdma_migrate_id}.
   *
   * @param id the identifier, which must be open
   * @param target null for a channel of C's own
   */
  void migrate(ConnectionId id, EventChannel target) {
    EventChannel source = channel;
    whileNobodyReads(
        source,
        target,
        () -> {
          if (channel != source) {
            throw new IllegalStateException(id + " is being migrated by another thread");
          }
          rdmacm.rdma_migrate_id(id.pointer(), target == null ? 0 : address(target));
          if (source != null) {
            source.remove(address);
          }
          channel = target;
          if (target != null) {
            target.add(address, id);
          }
        });
  }

  /** Takes the locks of both channels, in an order that all threads share. */
  private static void whileNobodyReads(EventChannel one, EventChannel other, Runnable action) {
    if (one == null || (other != null && address(other) < address(one))) {
      whileNobodyReads(other, one, action);
      return;
    }
    ReentrantLock first = one.reading();
    first.lock();
    try {
      if (other == null) {
        action.run();
      } else {
        whileNobodyReads(other, null, action);
      }
    } finally {
      first.unlock();
    }
  }

  private static long address(EventChannel channel) {
    return channel.segment().address();
  }

  void destroy() {
    whileNobodyReads(
        () -> {
          groups.leaveAll();
          if (endpoint) {
            rdmacm.rdma_destroy_ep(address);
          } else {
            rdmacm.rdma_destroy_id(address);
          }
          if (channel != null) {
            channel.remove(address);
          }
        });
  }
}
