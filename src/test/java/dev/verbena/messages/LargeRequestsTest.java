package dev.verbena.messages;

import static dev.verbena.messages.ConnectionSettings.DEFAULT;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.verbena.RdmaException;
import dev.verbena.VerbsException;
import dev.verbena.soft.Faults;
import dev.verbena.soft.InSimulation;
import dev.verbena.testing.Await;
import dev.verbena.testing.Background;
import dev.verbena.values.AccessFlag;
import dev.verbena.values.AckTimeout;
import dev.verbena.verbs.MemoryRegion;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.FutureTask;
import org.junit.jupiter.api.Test;

/** Large requests and answers wait for memory while others have it, and give all of it back. */
@InSimulation
class LargeRequestsTest extends RequestFixture {
  private static final Duration SOON = Await.LIMIT;
  private static final int LIMIT = 4;
  private static final int LARGE = 8192;
  private static final ConnectionSettings SETTINGS =
      DEFAULT
          .withSends(LIMIT)
          .withMessageSize(512)
          .withTimeout(SOON)
          .withCopies(LARGE)
          .withAckTimeout(AckTimeout.ofCode(10));

  private RequestServer server(RequestServer.Handler handler, boolean inExecutor) throws Exception {
    return serve(
        handler,
        builder ->
            builder
                .settings(SETTINGS)
                .clients(2)
                .largest(LARGE)
                .executor(inExecutor ? executor : null));
  }

  private static void echo(Request request) {
    request.answer(request.bytes());
  }

  private static void requireEcho(RequestClient client, int size, int value, int room)
      throws InterruptedException {
    byte[] request = new byte[size];
    java.util.Arrays.fill(request, (byte) value);
    MemorySegment answer = MemorySegment.ofArray(new byte[room]);
    assertEquals(size, client.call(MemorySegment.ofArray(request), answer, SOON));
    assertEquals(-1, answer.asSlice(0, size).mismatch(MemorySegment.ofArray(request)));
  }

  /** A handler may answer otherwise if the bytes cannot be read. */
  @Test
  void answerThatCannotBeCopiedKeepsNoMemory() throws Exception {
    MemoryRegion[] value = new MemoryRegion[1];
    RequestServer server =
        server(
            request -> {
              MemorySegment closed;
              try (Arena arena = Arena.ofShared()) {
                closed = arena.allocate(LARGE);
              }
              assertThrows(IllegalStateException.class, () -> request.answer(closed));
              switch (request.bytes().get(ValueLayout.JAVA_BYTE, 0)) {
                case 0 -> request.answer(MemorySegment.ofArray(new byte[LARGE]));
                case 1 -> request.answer(value[0], 0, LARGE, null);
                default -> request.answer(1);
              }
            },
            true);
    value[0] = server.domain().allocateMemory(LARGE);
    value[0].memory().fill((byte) 9);
    RequestClient client = connect(server, SETTINGS);
    for (int i = 0; i < 9; i++) {
      MemorySegment answer = MemorySegment.ofArray(new byte[LARGE]);
      long length = client.call(MemorySegment.ofArray(new byte[] {(byte) (i % 3)}), answer, SOON);
      assertEquals(i % 3 == 2 ? 1 : LARGE, length);
      assertEquals(i % 3 == 1 ? 9 : 0, answer.get(ValueLayout.JAVA_BYTE, LARGE - 1));
    }
    assertEquals(9, value[0].memory().get(ValueLayout.JAVA_BYTE, 0));
  }

  /**
   * The queue of the client takes no request any more; those that it asks for then are not read.
   */
  @Test
  void requestsThatCannotBeReadKeepNoMemory() throws Exception {
    CountDownLatch arrived = new CountDownLatch(1);
    CountDownLatch go = new CountDownLatch(1);
    RequestServer server =
        server(
            request -> {
              if (request.bytes().byteSize() == 1) {
                arrived.countDown();
                go.await();
              }
              request.answer(1);
            },
            false);
    RequestClient polite = connect(server, SETTINGS);
    FutureTask<byte[]> delaying = Background.inBackground(() -> polite.call(new byte[1], SOON));
    arrived.await();
    for (int round = 0; round < 3; round++) {
      try (RequestPeer peer = RequestPeer.connect(hosts, server)) {
        for (int i = 0; i < LIMIT; i++) {
          peer.sendLarge(i, peer.memory.start(), 64, peer.memory.rkey());
          assertTrue(peer.awaitSent());
        }
        Faults _ = hosts.faults().fillQueues("server");
        go.countDown();
        peer.awaitEnd();
        Faults _ = hosts.faults().freeQueues();
      }
      Await.until("the end of all", () -> server.clients() <= 1);
    }
    try {
      delaying.get();
    } catch (java.util.concurrent.ExecutionException e) {
      // Its answer could not be sent.
    }
    RequestClient next = connect(server, SETTINGS);
    for (int i = 0; i < 3 * LIMIT; i++) {
      requireLarge(next);
    }
  }

  private static void requireLarge(RequestClient client) throws InterruptedException {
    MemorySegment answer = MemorySegment.ofArray(new byte[8]);
    assertEquals(1, client.call(MemorySegment.ofArray(new byte[LARGE]), answer, SOON));
  }

  /** Nothing is posted any more: the connection has failed. */
  @Test
  void callThatCannotBePostedEndsTheConnection() throws Exception {
    RequestClient client = connect(server(LargeRequestsTest::echo, false), SETTINGS);
    requireEcho(client, 8, 1, 8);
    Faults _ = hosts.faults().fillQueues("client");
    assertThrows(VerbsException.class, () -> client.call(new byte[1], SOON));
    Faults _ = hosts.faults().freeQueues();
    assertThrows(VerbsException.class, () -> client.call(new byte[1], SOON));
  }

  @Test
  void memoryOfAnySizeIsTooMuch() throws Exception {
    RequestClient client = connect(server(LargeRequestsTest::echo, false), SETTINGS);
    MemorySegment one = MemorySegment.ofArray(new byte[1]);
    for (long size : List.of(LARGE + 1L, 1L << 40, 1L << 44, (1L << 62) + 1, Long.MAX_VALUE)) {
      MemorySegment large = MemorySegment.NULL.reinterpret(size);
      assertThrows(IllegalArgumentException.class, () -> client.call(one, large, SOON));
      assertThrows(IllegalArgumentException.class, () -> client.call(large, one, SOON));
      assertThrows(IllegalArgumentException.class, () -> client.call(large, large, SOON));
    }
    requireEcho(client, 1, 7, 1);
  }

  /** The handler has closed it, against the contract. */
  @Test
  void answerThatCannotBeSentGivesTheMemoryOfItsRequestBack() throws Exception {
    RequestServer[] own = new RequestServer[1];
    RequestServer server =
        server(
            request -> {
              MemoryRegion value = own[0].domain().allocateMemory(LARGE, AccessFlag.LOCAL_WRITE);
              request.answer(value, 0, LARGE, null);
              if (request.bytes().get(ValueLayout.JAVA_BYTE, 0) == 0) {
                value.close();
              }
            },
            false);
    own[0] = server;
    MemorySegment answer = MemorySegment.ofArray(new byte[LARGE]);
    ConnectionSettings wide = SETTINGS.withCopies(4 * LARGE);
    for (int i = 0; i < 3; i++) {
      RequestClient client = connect(server, wide);
      MemorySegment zero = MemorySegment.ofArray(new byte[LARGE]);
      assertThrows(RdmaException.class, () -> client.call(zero, answer, SOON));
    }
    MemorySegment one = MemorySegment.ofArray(new byte[LARGE]).fill((byte) 1);
    assertEquals(LARGE, connect(server, wide).call(one, answer, SOON));
  }

  /** Nor does the end of the client come before they have been read. */
  @Test
  void completionsThatAHandlerDelaysAreRead() throws Exception {
    ConnectionSettings wide = SETTINGS.withSends(300).withCopies(64 * LARGE);
    CountDownLatch[] blocked = {new CountDownLatch(1)};
    RequestServer server =
        serve(
            request -> {
              if (request.bytes().byteSize() == 1) {
                blocked[0].countDown();
                Await.pass(Duration.ofSeconds(2), "nobody reads completions");
              }
              request.answer(0);
            },
            builder -> builder.settings(wide).clients(2).largest(64 * LARGE));
    MemorySegment small = MemorySegment.ofArray(new byte[1]);
    MemorySegment large = MemorySegment.ofArray(new byte[LARGE]);
    RequestClient.Callback nobody =
        new RequestClient.Callback() {
          @Override
          public void answered(Answer answer) {}

          @Override
          public void failed(RuntimeException reason) {}
        };
    for (int i = 0; i < 8; i++) {
      blocked[0] = new CountDownLatch(1);
      RequestClient client = connect(server, wide.withCopies(256 * LARGE));
      for (int call = 0; call < 16; call++) {
        client.submit(large, SOON, nobody);
      }
      client.submit(small, SOON, nobody);
      for (int call = 0; call < 100; call++) {
        client.submit(large, SOON, nobody);
      }
      blocked[0].await();
      client.close();
      Await.until("the end of the client", () -> server.clients() == 0);
    }
    MemorySegment all = MemorySegment.ofArray(new byte[64 * LARGE]);
    assertEquals(0, connect(server, wide).call(all, small, SOON));
  }
}
