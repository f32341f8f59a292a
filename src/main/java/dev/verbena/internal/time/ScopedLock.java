package dev.verbena.internal.time;

import java.io.Serial;
import java.util.concurrent.locks.ReentrantLock;

/**
 * A lock that a {@code try} statement holds.
 *
 * {@snippet :
 * try (var _ = lock.hold()) {
 *   count++;
 * }
 * }
 */
public final class ScopedLock extends ReentrantLock implements AutoCloseable {
  @Serial private static final long serialVersionUID = 1;

  /** Acquires the lock, until {@link #close}. */
  public ScopedLock hold() {
    lock();
    return this;
  }

  @Override
  public void close() {
    unlock();
  }
}
