package dev.verbena.soft.device;

/** A receive request. */
public final class ReceiveRequest {
  public long wrId;
  public final ScatterList elements;

  public ReceiveRequest(int maxElements) {
    elements = new ScatterList(maxElements);
  }
}
