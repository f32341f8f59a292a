package dev.verbena.messages;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;

import dev.verbena.RdmaException;
import dev.verbena.testing.Await;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.net.InetSocketAddress;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutionException;
import org.jspecify.annotations.Nullable;

/** A client of a soak, and those that replace it. */
final class SoakClient implements AutoCloseable {
  /** What may happen to a client. */
  enum Fate {
    /** Nothing: each of its calls succeeds. */
    NONE,
    /** Its host is killed: its calls fail, and another client replaces it. */
    KILLED,
    /** Its device is removed: its calls fail, and it connects again. */
    RECONNECTED,
    /** The same, but it makes its calls again. */
    REPEATING
  }

  private final RequestSoak soak;
  private final Fate fate;
  private final InetSocketAddress address;
  private final ConnectionSettings settings;
  private RequestClient client;

  SoakClient(RequestSoak soak, Fate fate, InetSocketAddress address, ConnectionSettings settings)
      throws InterruptedException {
    this.soak = soak;
    this.fate = fate;
    this.address = address;
    this.settings = settings;
    client = RequestClient.connect(address, settings);
  }

  /** Makes calls until there are none. */
  Void call() throws Exception {
    if (fate == Fate.NONE) {
      callOneByOne();
    } else {
      while (callSeveral()) {
        // Several more.
      }
    }
    return null;
  }

  private void callOneByOne() throws Exception {
    MemorySegment request = MemorySegment.ofArray(new byte[Long.BYTES]);
    MemorySegment answer = MemorySegment.ofArray(new byte[64]);
    for (long call = take(); call >= 0; call = take()) {
      request.set(ValueLayout.JAVA_LONG_UNALIGNED, 0, call);
      assertEquals(Long.BYTES, client.call(request, answer, Await.LIMIT));
      assertEquals(RequestSoak.mixed(call), answer.get(ValueLayout.JAVA_LONG_UNALIGNED, 0));
    }
  }

  /** Makes calls at the same time, the last of which waits; returns whether there are more. */
  private boolean callSeveral() throws Exception {
    Map<Long, CompletableFuture<byte[]>> answers = new LinkedHashMap<>();
    boolean isLast = false;
    for (int i = 1; i <= RequestSoak.LIMIT && !isLast; i++) {
      long call = take();
      isLast = call < 0;
      if (!isLast) {
        answers.put(call, begin(call, i == RequestSoak.LIMIT));
      }
    }
    boolean haveFailed = false;
    for (var each : answers.entrySet()) {
      try {
        assertArrayEquals(bytes(RequestSoak.mixed(each.getKey())), each.getValue().get());
      } catch (ExecutionException e) {
        boolean mayFail = fate == Fate.KILLED || fate == Fate.RECONNECTED;
        if (!mayFail || !(e.getCause() instanceof RdmaException r) || !r.isTransient()) {
          throw new AssertionError(fate + ": call " + each.getKey(), e.getCause());
        }
        soak.fail(each.getKey());
        haveFailed = true;
      }
    }
    if (haveFailed && fate == Fate.KILLED) {
      client.close();
      client = Await.attempt("another client", this::tryConnect);
    }
    return !isLast;
  }

  private long take() {
    return soak.take(fate == Fate.REPEATING);
  }

  private static byte[] bytes(long value) {
    return ByteBuffer.allocate(Long.BYTES).order(ByteOrder.nativeOrder()).putLong(value).array();
  }

  private CompletableFuture<byte[]> begin(long call, boolean waits) throws InterruptedException {
    try {
      return waits
          ? CompletableFuture.completedFuture(client.call(bytes(call), Await.LIMIT))
          : client.submit(bytes(call), Await.LIMIT);
    } catch (RdmaException e) {
      return CompletableFuture.failedFuture(e);
    }
  }

  /** Returns null if there is no device, or no place. */
  private @Nullable RequestClient tryConnect() throws InterruptedException {
    try {
      return RequestClient.connect(address, settings);
    } catch (RdmaException e) {
      return null;
    }
  }

  @Override
  public void close() {
    client.close();
  }
}
