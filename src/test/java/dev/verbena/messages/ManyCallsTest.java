package dev.verbena.messages;

import static org.junit.jupiter.api.Assertions.assertEquals;

import dev.verbena.testing.Await;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CountDownLatch;
import org.junit.jupiter.api.Test;

/** More calls under way over one connection than its rings have places. */
class ManyCallsTest extends RequestFixture {
  private static final int CALLS = 10_000;

  /** More than the RDMA reads of a client that are under way. */
  private static final int LARGE = 100;

  private static final ConnectionSettings SETTINGS =
      ConnectionSettings.DEFAULT.withSends(CALLS).withMessageSize(8).withTimeout(Await.LIMIT);

  private RequestClient connect(RequestServer.Handler handler) throws Exception {
    return connect(
        serve(handler, builder -> builder.settings(SETTINGS).executor(executor)), SETTINGS);
  }

  private static MemorySegment request(long number) {
    MemorySegment request = MemorySegment.ofArray(new long[1]);
    request.set(ValueLayout.JAVA_LONG, 0, number);
    return request;
  }

  /** Expects a number. */
  private static class Expecting implements RequestClient.Callback {
    private final CompletableFuture<Long> answer = new CompletableFuture<>();

    @Override
    public void answered(Answer bytes) {
      boolean _ = answer.complete(bytes.bytes().get(ValueLayout.JAVA_LONG_UNALIGNED, 0));
    }

    @Override
    public void failed(RuntimeException reason) {
      boolean _ = answer.completeExceptionally(reason);
    }
  }

  @Test
  void allAreHandledAtTheSameTimeAndAnswered() throws Exception {
    CountDownLatch begun = new CountDownLatch(CALLS);
    RequestClient client =
        connect(
            request -> {
              begun.countDown();
              begun.await();
              request.answer(request.bytes());
            });
    assertEquals(CALLS, client.limit());
    List<Expecting> answers = new ArrayList<>();
    for (int i = 0; i < CALLS; i++) {
      Expecting answer = new Expecting();
      client.submit(request(i), Await.LIMIT, answer);
      answers.add(answer);
    }
    for (int i = 0; i < CALLS; i++) {
      assertEquals(i, answers.get(i).answer.join());
    }
  }

  @Test
  void callbacksSendFurtherOnesWhileTheRingIsFull() throws Exception {
    RequestClient client = connect(request -> request.answer(request.bytes()));
    List<CompletableFuture<Long>> last = new ArrayList<>();
    for (int i = 0; i < CALLS; i++) {
      Expecting third = new Expecting();
      last.add(third.answer);
      client.submit(request(i), Await.LIMIT, then(client, then(client, third)));
    }
    for (int i = 0; i < CALLS; i++) {
      assertEquals(i + 2, last.get(i).join());
    }
  }

  @Test
  void moreLargeRequestsAreHandledAtTheSameTimeThanAreRead() throws Exception {
    CountDownLatch begun = new CountDownLatch(LARGE);
    RequestClient client =
        connect(
            request -> {
              begun.countDown();
              begun.await();
              request.answer(request.bytes().asSlice(request.bytes().byteSize() - Long.BYTES));
            });
    List<Expecting> answers = new ArrayList<>();
    for (int i = 0; i < LARGE; i++) {
      MemorySegment large = MemorySegment.ofArray(new long[500]);
      large.set(ValueLayout.JAVA_LONG, 499 * Long.BYTES, i);
      Expecting answer = new Expecting();
      client.submit(large, Await.LIMIT, answer);
      answers.add(answer);
    }
    for (int i = 0; i < LARGE; i++) {
      assertEquals(i, answers.get(i).answer.join());
    }
  }

  /** Sends the next number when a number has arrived. */
  private static Expecting then(RequestClient client, Expecting next) {
    return new Expecting() {
      @Override
      public void answered(Answer answer) {
        long number = answer.bytes().get(ValueLayout.JAVA_LONG_UNALIGNED, 0);
        try {
          client.submit(request(number + 1), Await.LIMIT, next);
        } catch (Exception e) {
          next.failed(new IllegalStateException(e));
        }
      }

      @Override
      public void failed(RuntimeException reason) {
        next.failed(reason);
      }
    };
  }
}
