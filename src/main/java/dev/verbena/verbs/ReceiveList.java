package dev.verbena.verbs;

import dev.verbena.raw.ibv_recv_wr;

/**
 * Receive requests, to be posted together: an array of {@code struct ibv_recv_wr}.
 *
 * <p>
 *
 * {@snippet :
 * ReceiveList receives = new ReceiveList(16, 1);
 * for (int i = 0; i < receives.size(); i++) {
 *   receives.id(i, i);
 *   receives.local(i, region, i * 4096, 4096);
 * }
 * queuePair.post(receives);
 * }
 */
public final class ReceiveList extends RequestList {
  /**
   * Makes requests without entries, which can only receive immediate data.
   *
   * @param requests how many requests
   * @param entriesEach how many scatter/gather entries each may have
   */
  public ReceiveList(int requests, int entriesEach) {
    super(requests, entriesEach, ibv_recv_wr.sizeof(), 0, 0);
  }

  /**
   * Takes all entries from a request.
   *
   * @param request the index of a request
   */
  public void clear(int request) {
    setEntries(checked(request), 0);
  }

  @Override
  void requireEntries(int request) {}

  @Override
  boolean isWritten(int request) {
    return true;
  }

  @Override
  QueuePairState firstState() {
    return QueuePairState.INIT;
  }

  @Override
  void validateKind(QueueLimits limits, int request) {}

  @Override
  String describe(int request) {
    return "receive " + request;
  }
}
