package dev.verbena.soft.device;

import org.jspecify.annotations.Nullable;

/** A receive request. */
public final class ReceiveRequest {
  public long wrId;

  /** The queue that it was taken from; null if it was a tagged buffer. */
  public @Nullable Slots slots;

  public final ScatterList elements;

  /** The data that is written when the request completes; null if it is written at once. */
  public @Nullable LateData late;

  public ReceiveRequest(int maxElements) {
    elements = new ScatterList(maxElements);
  }
}
