package dev.verbena.messages;

import dev.verbena.internal.Deadline;
import dev.verbena.internal.time.ScopedLock;
import dev.verbena.internal.time.Time;
import java.lang.foreign.MemorySegment;
import java.util.function.Function;
import org.jspecify.annotations.Nullable;

/** The messages that arrive over a connection, which one thread at a time receives. */
final class Receiving {
  private final String connection;
  private final Inbox inbox;
  private final Sending sending;
  private final ConnectionEnd end;
  private final ScopedLock lock = new ScopedLock();

  Receiving(String connection, Inbox inbox, Sending sending, ConnectionEnd end) {
    this.connection = connection;
    this.inbox = inbox;
    this.sending = sending;
    this.end = end;
  }

  /** Held by the thread that receives. */
  ScopedLock lock() {
    return lock;
  }

  /**
   * Takes the next message out of its slot by a function; returns {@code ended} at the end of the
   * connection.
   */
  <T extends @Nullable Object> T receive(
      Deadline deadline, Function<MemorySegment, T> taking, T ended) throws InterruptedException {
    if (!Time.tryLock(lock, deadline.remainingNanos())) {
      throw deadline.missedBy("receiving over " + connection);
    }
    try (lock) {
      if (!awaitMessage(deadline)) {
        return ended;
      }
      T taken = taking.apply(inbox.message()); // If this throws, the message is not lost.
      inbox.release();
      return taken;
    }
  }

  /** Copies the next message; returns its length, or -1 at the end of the connection. */
  int receive(MemorySegment target, Deadline deadline) throws InterruptedException {
    return receive(deadline, message -> copy(message, target), -1);
  }

  private int copy(MemorySegment message, MemorySegment target) {
    if (message.byteSize() > target.byteSize()) {
      throw new IndexOutOfBoundsException(
          "message of %d bytes over %s does not fit into the target of %d bytes; the next receive returns it"
              .formatted(message.byteSize(), connection, target.byteSize()));
    }
    target.copyFrom(message);
    return (int) message.byteSize();
  }

  /** Returns true for a message, false for the end of the connection. */
  private boolean awaitMessage(Deadline deadline) throws InterruptedException {
    end.requireOpen();
    if (end.isPeerClosed()) {
      return false;
    }
    if (end.receiveFailure() != null) {
      throw end.broken("receiving", end.receiveFailure());
    }
    return switch (inbox.await(deadline)) {
      case MESSAGE -> true;
      case END -> {
        end.closeByPeer();
        yield false;
      }
      case NOTHING -> throw deadline.missedBy("receiving over " + connection);
      case FAILURE -> {
        end.failReceives(inbox.failure());
        end.requireOpen(); // Closing flushes them, too.
        awaitCause();
        if (!end.isOrderly()) {
          throw end.broken("receiving", end.receiveFailure());
        }
        end.closeByPeer();
        yield false;
      }
    };
  }

  /**
   * Waits until it is known what failed the receive requests: a send that failed before them, or
   * the end of the connection, whose event may be read after the requests were flushed.
   */
  private void awaitCause() throws InterruptedException {
    if (!end.hasEvent()
        && sending.awaitIdle(Deadline.after(ConnectionEnd.CAUSE_TIME))
        && end.isUnexplained()) {
      end.await();
    }
  }
}
