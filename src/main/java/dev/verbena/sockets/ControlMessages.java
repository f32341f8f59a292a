package dev.verbena.sockets;

/**
 * The messages of a stream that credits do not count: at most {@value Sizes#CONTROL_MESSAGES} of
 * them are outstanding, and each end has posted so many receive requests more. Guarded by the lock
 * of the stream.
 */
final class ControlMessages {
  private static final int NONE = -1;

  private final StreamRequests requests;
  private final StreamState state;
  private int outstanding;

  /** The control message that is to be sent as soon as possible, or {@link #NONE}. */
  private int pending = NONE;

  private boolean isDisconnectSent;

  ControlMessages(StreamRequests requests, StreamState state) {
    this.requests = requests;
    this.state = state;
  }

  /** Returns whether all that may be are outstanding. */
  boolean isFull() {
    return outstanding == Sizes.CONTROL_MESSAGES;
  }

  boolean canPost() {
    return state.isConnected() && !isDisconnectSent && !isFull();
  }

  /** Posts a request that counts as such a message. */
  void post(int request, int operation, int value) {
    outstanding++;
    requests.post(request, operation, value);
  }

  void completed() {
    outstanding--;
  }

  boolean isPending() {
    return pending != NONE;
  }

  /** Sets what {@link #sendPending} sends in place of an earlier message. */
  void setPending(int value) {
    if (state.isConnected() && !isDisconnectSent) {
      pending = value;
    }
  }

  void dropPending() {
    pending = NONE;
  }

  /** Sends the pending message, which {@link #canPost} allows. */
  void sendPending() {
    int value = pending;
    pending = NONE;
    requests
        .list()
        .immediate(StreamRequests.MESSAGE, RsocketMessage.of(RsocketMessage.CONTROL, value));
    post(StreamRequests.MESSAGE, RsocketMessage.CONTROL, value);
    isDisconnectSent |= value == RsocketMessage.DISCONNECT;
  }
}
