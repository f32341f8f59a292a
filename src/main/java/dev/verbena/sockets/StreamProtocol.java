package dev.verbena.sockets;

import dev.verbena.VerbsException;
import dev.verbena.internal.time.Time;
import dev.verbena.values.CompletionFlag;
import dev.verbena.verbs.Completions;

/**
 * Processes what the peer of a stream has sent and acknowledged, and grants what it may send next.
 * Guarded by the lock of the stream.
 *
 * <p><b>The peer is not believed:</b> it can write to the receive buffer and to its tables, and
 * nowhere else. A message that is longer than what was granted, or that the protocol does not have,
 * ends the connection.
 */
final class StreamProtocol {
  /** Completions of one poll. */
  private static final int BATCH = 32;

  private final Sizes sizes;
  private final StreamQueues queues;
  private final StreamEvents events;
  private final StreamState state;
  private final ControlMessages control;
  private final InputRing input;
  private final Grants grants;
  private final OutputRing output;
  private final Completions completions = new Completions(BATCH);

  /** When something was heard of the peer last, if {@link #isKeptAlive}. */
  private long heard;

  private boolean isKeptAlive;

  StreamProtocol(
      Sizes sizes,
      StreamQueues queues,
      StreamEvents events,
      StreamState state,
      ControlMessages control,
      InputRing input,
      Grants grants,
      OutputRing output) {
    this.sizes = sizes;
    this.queues = queues;
    this.events = events;
    this.state = state;
    this.control = control;
    this.input = input;
    this.grants = grants;
    this.output = output;
  }

  /** Reads the events of the descriptor; returns whether there was one. */
  boolean readEvents() {
    try {
      return !state.isReleased() && events.read();
    } catch (VerbsException | IllegalStateException e) {
      state.fail(e);
      return false;
    }
  }

  /**
   * Polls both queues, and grants what is due.
   *
   * @return whether the queues may have more completions
   */
  boolean process() {
    if (state.isReleased()) {
      return false;
    }
    try {
      advance();
      boolean hasMore = pollReceives();
      pollSends();
      advance();
      return hasMore;
    } catch (VerbsException | IllegalStateException e) {
      state.fail(e);
      return false;
    }
  }

  /** Processes what has arrived: no more messages than there are receive requests. */
  void processAll() {
    if (process()) {
      boolean _ = process();
    }
  }

  private boolean pollReceives() {
    for (int left = sizes.receives(); left > 0; ) {
      int count = queues.receives().poll(completions);
      int succeeded = 0;
      for (int i = 0; i < count && !state.isDrained(); i++) {
        if (!completions.isSuccess(i)) {
          state.failed(completions.status(i));
          state.drain();
        } else if (completions.has(i, CompletionFlag.WITH_IMM)) {
          succeeded++;
          receive(completions.immediate(i));
        } else {
          state.violated("a message without immediate data");
        }
      }
      if (!state.isDrained()) {
        queues.postReceives(succeeded);
      }
      if (succeeded > 0) {
        heard();
      }
      if (count < BATCH) {
        return false;
      }
      left -= count;
    }
    return true;
  }

  private void receive(int message) {
    int operation = RsocketMessage.operation(message);
    int value = RsocketMessage.value(message);
    switch (operation) {
      case RsocketMessage.DATA -> receiveData(value);
      case RsocketMessage.GRANT -> output.granted(value);
      case RsocketMessage.AREA -> {
        grants.receivedMessage();
        if (value >= sizes.areas()) {
          state.violated("an area with the index " + value + " of " + sizes.areas());
        }
      }
      case RsocketMessage.CONTROL -> receiveControl(value);
      default -> state.violated("a message of the unknown operation " + operation);
    }
  }

  private void receiveData(int length) {
    if (state.isInputEnded()) {
      state.violated(length + " bytes of the stream after its end");
      return;
    } else if (length > input.allowed()) {
      state.violated("%d bytes where %d were granted".formatted(length, input.allowed()));
      return;
    }
    grants.receivedMessage();
    input.receive(length);
    if (state.isInputShut()) {
      input.discard();
    }
  }

  private void receiveControl(int value) {
    switch (value) {
      case RsocketMessage.DISCONNECT -> {
        state.endInput();
        state.disconnect();
      }
      case RsocketMessage.KEEPALIVE -> {}
      // This end may have data that is not acknowledged yet.
      case RsocketMessage.SHUTDOWN -> state.endInput();
      default -> state.violated("a control message of the unknown value " + value);
    }
  }

  private void pollSends() {
    int count;
    do {
      count = queues.sends().poll(completions);
      for (int i = 0; i < count; i++) {
        sendCompleted(i);
      }
    } while (count == BATCH);
  }

  private void sendCompleted(int index) {
    long id = completions.id(index);
    int operation = (int) (id >>> Integer.SIZE);
    if (operation == RsocketMessage.GRANT || operation == RsocketMessage.CONTROL) {
      control.completed();
    } else {
      output.completed(operation, (int) id);
    }
    if (!completions.isSuccess(index)) {
      state.failed(completions.status(index));
      return;
    }
    heard();
    if (operation == RsocketMessage.CONTROL && (int) id == RsocketMessage.DISCONNECT) {
      state.disconnect();
    }
  }

  private void heard() {
    if (isKeptAlive) {
      heard = Time.now();
    }
  }

  /**
   * Returns for how long nothing was heard of the peer, since the first call at most; negative if
   * the connection has ended.
   */
  long silence() {
    if (!isKeptAlive) {
      isKeptAlive = true;
      heard = Time.now();
    }
    boolean _ = process();
    return state.isConnected() ? Time.now() - heard : -1;
  }

  private void makeRoomForControl() {
    if (control.isFull() && !state.isReleased()) {
      try {
        pollSends();
      } catch (VerbsException | IllegalStateException e) {
        state.fail(e);
      }
    }
  }

  /** Sends what waits, then the pending control message, and grants what is due, if possible. */
  void advance() {
    if (control.isPending() || grants.areDue()) {
      makeRoomForControl(); // First: no request must complete unseen between what follows.
    }
    output.flush();
    if (control.isPending() && !output.isWaiting() && control.canPost()) {
      control.sendPending();
    }
    if (grants.areDue() && control.canPost()) {
      grants.send();
    }
  }

  /** Sends an empty write, unless requests are outstanding that the peer must acknowledge, too. */
  void keepAlive() {
    makeRoomForControl();
    if (control.canPost()) {
      control.post(StreamRequests.KEEPALIVE, RsocketMessage.CONTROL, RsocketMessage.KEEPALIVE);
    }
  }

  /** Returns whether events are awaited: to send something, to end, or to discard what comes. */
  boolean isPending() {
    boolean isDiscarding = state.isInputShut() && !state.isInputEnded();
    return state.isEnding()
        || (state.isConnected() && (output.isWaiting() || control.isPending() || isDiscarding));
  }

  /**
   * Requests the events that receiving depends on, what is pending, and sending if that is wanted.
   *
   * @return whether to process again
   */
  boolean arm(boolean withSends) {
    try {
      return events.arm(
          withSends
              || grants.areDue()
              || state.isEnding()
              || control.isPending()
              || output.isWaitingForRequest());
    } catch (VerbsException | IllegalStateException e) {
      state.fail(e);
      return false;
    }
  }
}
