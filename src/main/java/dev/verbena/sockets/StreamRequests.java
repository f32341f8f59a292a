package dev.verbena.sockets;

import dev.verbena.VerbsException;
import dev.verbena.verbs.QueuePair;
import dev.verbena.verbs.SendList;
import java.nio.ByteBuffer;

/**
 * The send requests of a stream, one of each kind, which are formatted once. One that cannot be
 * posted ends the stream. Guarded by the lock of the stream.
 */
final class StreamRequests {
  // The requests of the list.
  static final int DATA = 0;
  static final int INLINE_DATA = 1;
  static final int GRANT = 2;
  static final int MESSAGE = 3;
  static final int WRITE = 4;
  static final int AREA = 5;
  static final int KEEPALIVE = 6;

  private final QueuePair queuePair;
  private final StreamState state;
  private final int inline;
  private final SendList list;
  private final ByteBuffer inlineData;

  /**
   * Formats the requests of a queue pair.
   *
   * @param inline the maximum size of data to send inline
   */
  StreamRequests(QueuePair queuePair, StreamState state, int inline) {
    this.queuePair = queuePair;
    this.state = state;
    this.inline = Math.min(inline, queuePair.capacity().maxInlineData());
    list = new SendList(KEEPALIVE + 1, 1, Math.max(this.inline, 1));
    list.writeWithImmediate(DATA, 0);
    list.writeWithImmediate(INLINE_DATA, 0).inline(0);
    list.writeWithImmediate(GRANT, 0);
    list.writeWithImmediate(MESSAGE, 0);
    list.write(WRITE);
    list.writeWithImmediate(AREA, 0);
    list.write(KEEPALIVE);
    inlineData = list.inlineData(INLINE_DATA).asByteBuffer();
  }

  /** Returns the maximum size of data that is sent inline. */
  int inline() {
    return inline;
  }

  /** Returns the list, to set what differs from one request of a kind to the next. */
  SendList list() {
    return list;
  }

  /** Sets the data of {@link #INLINE_DATA}. */
  void setInlineData(ByteBuffer source, int count) {
    inlineData.put(0, source, source.position(), count);
    list.inlineLength(INLINE_DATA, count);
  }

  /**
   * Posts a request.
   *
   * @param operation the operation, and a value of it, which the completion returns
   */
  void post(int request, int operation, int value) {
    list.id(request, (long) operation << Integer.SIZE | value);
    try {
      if (queuePair.post(list, request, 1) == 0) {
        throw new IllegalStateException("the send queue is full");
      }
    } catch (VerbsException | IllegalStateException e) {
      state.fail(e);
    }
  }
}
