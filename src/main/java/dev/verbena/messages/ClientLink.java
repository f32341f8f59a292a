package dev.verbena.messages;

import dev.verbena.cm.Endpoint;
import dev.verbena.internal.Deadline;
import dev.verbena.internal.Inside;
import dev.verbena.internal.KeepAlive;
import dev.verbena.internal.MessageCounter;
import dev.verbena.internal.MessageCounters;
import dev.verbena.internal.foreign.AfterFailure;
import dev.verbena.internal.life.Core;
import dev.verbena.verbs.CompletionQueue;
import dev.verbena.verbs.CompletionWaiter;
import dev.verbena.verbs.MemoryRegion;
import dev.verbena.verbs.RemoteMemory;
import java.lang.foreign.MemorySegment;
import java.time.Duration;
import java.util.concurrent.TimeUnit;
import org.jspecify.annotations.Nullable;

/** A connection of a client, with the calls that are made over it. */
final class ClientLink {
  /** One of at most so many send requests is signaled. */
  private static final int MOST_UNSIGNALED = 512;

  private static final long CLOSING_NANOS = TimeUnit.SECONDS.toNanos(5);

  private final String name;
  private final Endpoint endpoint;
  private final MessageQueues queues;
  private final RequestFrame.Terms terms;
  private final ClientEnd end;
  final ClientCalls calls;
  private final MessageCounters counters;
  private @Nullable KeepAlive keepAlive;

  /** Connects an endpoint whose route is resolved. */
  ClientLink(Endpoint endpoint, ClientMemory memory, ConnectionSettings settings, Deadline deadline)
      throws InterruptedException {
    this.endpoint = endpoint;
    int most = settings.sends();
    int interval = Math.clamp(most / 2, 1, MOST_UNSIGNALED);
    MessageQueues.Sizes sizes =
        new MessageQueues.Sizes(
            most,
            Math.min(most, 2 * interval) + interval,
            interval,
            most + 1, // One more for the answer that a callback has.
            0,
            RequestFrame.size(settings.messageSize()));
    CompletionQueue queue = MessageQueues.queueOf(endpoint, sizes);
    queues = new MessageQueues(endpoint, memory.domain(), queue, sizes);
    try {
      terms = agree(settings, deadline);
    } catch (Throwable t) { // The domain remains, for another attempt.
      AfterFailure.close(t, () -> AfterFailure.closeAll(endpoint::close, queues::close));
      throw t;
    }
    name = "client of " + endpoint.id();
    end = new ClientEnd(name, endpoint);
    CompletionWaiter waiter = new CompletionWaiter(queue, settings.spin());
    calls = new ClientCalls(name, end, queues, waiter, memory.pool(), terms.limit());
    counters = Core.of(memory.domain()).device().counters();
    counters.opened(MessageCounter.CLIENTS_CONNECTED, calls.tally);
    settings
        .keepAlive()
        .ifPresent(
            silence -> {
              Duration atMost = silence.plus(settings.keepAliveAnswer());
              keepAlive =
                  KeepAlive.start(
                      name, silence, calls::heard, silent -> calls.requireAnswer(silent, atMost));
            });
  }

  private RequestFrame.Terms agree(ConnectionSettings settings, Deadline deadline)
      throws InterruptedException {
    RequestFrame.Terms own = new RequestFrame.Terms(settings.sends(), settings.messageSize());
    byte[] answer = endpoint.connect(settings.parameters(), own.toBytes(), deadline).privateData();
    RequestFrame.Terms agreed = own.agreed(answer);
    if (agreed == null) {
      throw new IllegalStateException("the peer of " + endpoint + " is not a RequestServer");
    }
    return agreed;
  }

  /** Returns what both ends have agreed on. */
  RequestFrame.Terms terms() {
    return terms;
  }

  /** Returns whether the connection has ended. */
  boolean hasEnded() {
    return end.isKnown() || endpoint.end().isPresent();
  }

  /** Reads completions. */
  void poll(long nanos) throws InterruptedException {
    end.requireNone();
    calls.pollInstead(nanos);
  }

  /**
   * Takes a slot, and memory of the pool for what is larger than a message: the request, which is
   * copied there, and an answer.
   */
  CallSlot take(MemorySegment request, long room, long start, Duration timeout)
      throws InterruptedException {
    int most = terms.messageSize();
    long length = request.byteSize(); // Before there is something to give back.
    CallSlot slot = calls.slots().acquire(start, timeout);
    try {
      slot.answer.expect(timeout, null, 0, 0, false);
      calls.slots().take(slot, length > most ? length : 0, room > most ? room : 0, start);
      MemoryRegion copied = slot.copied;
      if (copied != null) {
        MemorySegment.copy(request, 0, copied.memory(), 0, length);
        slot.large = RemoteMemory.at(RemoteMemory.of(copied).address(), length, copied.rkey());
      }
      return slot;
    } catch (Throwable t) {
      calls.slots().free(slot);
      throw t;
    }
  }

  /** Sends a request, and returns its answer; {@link ClientCalls#end} follows. */
  Answer exchange(CallSlot slot, MemorySegment request, long start) throws InterruptedException {
    calls.send(slot, request, start, null);
    return calls.await(slot, start);
  }

  /** Ends all calls: those of a client that is closed say so. */
  void close(boolean isClient) {
    if (isClient) {
      end.close();
    } else {
      end.replaced();
    }
    if (keepAlive != null) {
      keepAlive.stop();
    }
    endpoint.id().endQuietly(Inside.LIBRARY);
    calls.endAll(null);
    calls.close(CLOSING_NANOS, () -> AfterFailure.closeAll(this::closeQueuePair, queues::close));
    counters.closed(MessageCounter.CLIENTS_DISCONNECTED, calls.tally);
  }

  private void closeQueuePair() {
    endpoint.close();
    calls.giveBackAll(); // The server cannot access it any more.
  }

  @Override
  public String toString() {
    return name;
  }
}
