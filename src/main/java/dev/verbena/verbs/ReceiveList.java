package dev.verbena.verbs;

import dev.verbena.raw.ibv_recv_wr;

/**
 * A list of receive requests that are posted together: an array of {@code struct ibv_recv_wr} in
 * native memory.
 *
 * {@snippet :
 * ReceiveList receives = new ReceiveList(16, 1);
 * for (int i = 0; i < receives.size(); i++) {
 *   receives.id(i, i);
 *   receives.local(i, region, i * 4096, 4096);
 * }
 * int posted = queuePair.post(receives);
 * }
 *
 * <p>A list is used by one thread at a time. There is nothing to close: its memory is freed by the
 * garbage collector. See {@code ibv_post_recv(3)} and {@code ibv_post_srq_recv(3)}.
 */
public final class ReceiveList extends RequestList {
  /**
   * Creates a list of receive requests without SGEs, which can only receive immediate data.
   *
   * @param requests the number of receive requests
   * @param maxSges the maximum number of scatter/gather elements (SGEs) of each request
   */
  public ReceiveList(int requests, int maxSges) {
    super(requests, maxSges, ibv_recv_wr.sizeof(), 0, 0);
  }

  /**
   * Removes all SGEs of a request.
   *
   * @param request the index of the request
   */
  public void clear(int request) {
    setSges(checked(request), 0);
  }

  @Override
  void requireSges(int request) {}

  @Override
  boolean isWritten(int request) {
    return true;
  }

  @Override
  void validateKind(RequestList.Limits limits, int request) {}

  @Override
  String describe(int request) {
    return "receive request " + request;
  }
}
