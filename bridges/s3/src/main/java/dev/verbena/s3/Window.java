package dev.verbena.s3;

/**
 * How many attempts may be in progress at an endpoint. All of them may be declined, and the SDK
 * repeats calls as long as the client's retry quota lasts: about 35 at a time with its costs of
 * 2026. Others go by HTTP.
 */
final class Window {
  private static final int FIRST = 16;
  private static final int MOST = 32;

  private int limit = FIRST;
  private int used;

  /** The place of an attempt. */
  final class Place {
    private boolean isLeft;

    private Place() {}

    /** The attempt is answered, or has ended. May be called again. */
    void leave() {
      synchronized (Window.this) {
        used -= isLeft ? 0 : 1;
        isLeft = true;
      }
    }
  }

  /** Begins an attempt; returns null if there are too many. */
  synchronized Place enter() {
    if (used >= limit) {
      return null;
    }
    used++;
    return new Place();
  }

  /** The server has moved an object. */
  synchronized void widen() {
    limit = Math.min(MOST, limit + 1);
  }

  /** An attempt is repeated: the next one goes alone. */
  synchronized void narrow() {
    limit = 1;
  }
}
