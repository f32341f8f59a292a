package dev.verbena.cm;

import dev.verbena.verbs.CompletionChannel;
import dev.verbena.verbs.CompletionQueue;
import java.util.concurrent.atomic.AtomicLong;
import java.util.concurrent.locks.Condition;
import java.util.concurrent.locks.ReentrantLock;

/**
 * Waits of several threads for the completion events of one completion channel, which several
 * queues may share. One of the threads reads the channel, the others wait until it has read an
 * event or another thread must read.
 *
 * <p>No event is missed by a thread that takes the {@linkplain #count count} before it requests the
 * notification, polls the queue after that, and then waits.
 */
final class CompletionEvents {
  private final CompletionChannel channel;
  private final ReentrantLock lock = new ReentrantLock();
  private final Condition changed = lock.newCondition();

  /** Whether a thread reads the channel; guarded by the lock. */
  private boolean reading;

  /** The number of events that were read; changes under the lock. */
  private final AtomicLong count = new AtomicLong();

  CompletionEvents(CompletionChannel channel) {
    this.channel = channel;
  }

  /** Returns the number of events that were read. */
  long count() {
    return count.get();
  }

  /**
   * Waits until an event of the queue was read, the deadline passes, or the channel is closed. May
   * return after an event of another queue.
   *
   * @param seen the count when the queue was armed
   */
  void await(CompletionQueue queue, long seen, Deadline deadline) throws InterruptedException {
    if (!beginReading(seen, deadline)) {
      return;
    }
    try {
      CompletionQueue ready;
      do {
        ready = channel.poll(deadline.remaining());
        if (ready != null) {
          add();
        }
      } while (ready != queue && !deadline.isOver());
    } finally {
      endReading();
    }
  }

  /** Returns false if another thread has read an event, or the deadline has passed. */
  private boolean beginReading(long seen, Deadline deadline) throws InterruptedException {
    lock.lockInterruptibly();
    try {
      while (reading && count.get() == seen && !deadline.isOver()) {
        long _ = changed.awaitNanos(deadline.remainingNanos());
      }
      if (reading || count.get() != seen) {
        return false;
      }
      reading = true;
      return true;
    } finally {
      lock.unlock();
    }
  }

  private void add() {
    lock.lock();
    try {
      count.incrementAndGet();
      changed.signalAll();
    } finally {
      lock.unlock();
    }
  }

  private void endReading() {
    lock.lock();
    try {
      reading = false;
      changed.signalAll();
    } finally {
      lock.unlock();
    }
  }
}
