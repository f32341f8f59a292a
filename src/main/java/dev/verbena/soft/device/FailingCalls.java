package dev.verbena.soft.device;

import java.util.HashMap;
import java.util.Map;

/** The calls of C functions that are to fail, by a fault. Used by any thread. */
public final class FailingCalls {
  private final Map<String, Failure> calls = new HashMap<>();

  /** The n-th call of a function that fails. */
  private static final class Failure {
    private final int errno;
    private int left;

    Failure(int left, int errno) {
      this.left = left;
      this.errno = errno;
    }
  }

  /** Lets the n-th call of a function from now fail. */
  public synchronized void add(String function, int call, int errno) {
    calls.put(function, new Failure(call, errno));
  }

  public synchronized void clear() {
    calls.clear();
  }

  /** Counts a call of a function: the errno with which it is to fail, or 0. */
  public synchronized int failure(String function) {
    Failure failing = calls.get(function);
    if (failing == null || --failing.left > 0) {
      return 0;
    }
    calls.remove(function);
    return failing.errno;
  }
}
