package dev.verbena.soft;

/** A receive request. */
final class ReceiveRequest {
  long wrId;
  final ScatterList elements;

  ReceiveRequest(int maxElements) {
    elements = new ScatterList(maxElements);
  }
}
