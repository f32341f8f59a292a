package dev.verbena.aeron;

/** What the {@link Worker} was asked for: it has a result, or the reason why there is none. */
final class Pending<T> {
  private volatile T result;
  private volatile String failure;

  /** Returns the result; null as long as there is none. */
  T result() {
    return result;
  }

  /** Returns why there will be no result; null otherwise. */
  String failure() {
    return failure;
  }

  void complete(T object) {
    result = object;
  }

  void fail(String reason) {
    failure = reason;
  }
}
