package dev.verbena.cm;

import static dev.verbena.testing.Need.CM;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertInstanceOf;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.verbena.testing.Await;
import dev.verbena.testing.Background;
import dev.verbena.testing.DeviceTest;
import dev.verbena.testing.Needs;
import dev.verbena.testing.Rig;
import dev.verbena.values.CompletionOpcode;
import dev.verbena.values.CompletionStatus;
import dev.verbena.values.QueuePairCapacity;
import dev.verbena.verbs.Completions;
import dev.verbena.verbs.MemoryRegion;
import dev.verbena.verbs.ReceiveList;
import dev.verbena.verbs.SendList;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.net.InetSocketAddress;
import java.time.Duration;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.FutureTask;

/** The functions of rdma_verbs.h, one by one. */
@Needs(CM)
class TransfersTest {
  private static final Duration SOON = Await.LIMIT;
  private static final QueuePairCapacity CAPACITY =
      QueuePairCapacity.of(4).withSendSges(3).withReceiveSges(3).withMaxInlineData(64);

  /** Two connected endpoints with queue pairs of their own, and memory. */
  private record Two(Listener listener, Endpoint client, Endpoint server, Arena arena)
      implements AutoCloseable {

    static Two connected() throws Exception {
      Listener listener = Listener.open(new InetSocketAddress(Rig.addressB(), 0));
      FutureTask<Endpoint> accepting =
          Background.inBackground(
              () -> {
                Endpoint server = listener.poll(SOON);
                server.id().queues().createQueuePair(CAPACITY);
                server.accept(ConnectionParameters.DEFAULT, new byte[0], SOON);
                return server;
              });
      Endpoint client =
          Endpoint.resolve(
              PortSpace.TCP,
              new InetSocketAddress(Rig.addressA(), 0),
              new InetSocketAddress(Rig.addressB(), listener.port()),
              SOON);
      client.id().queues().createQueuePair(CAPACITY);
      client.connect(ConnectionParameters.DEFAULT, new byte[0], SOON);
      return new Two(listener, client, accepting.get(), Arena.ofShared());
    }

    Transfers near() {
      return client.id().queues().transfers();
    }

    Transfers far() {
      return server.id().queues().transfers();
    }

    MemorySegment memory(String text) {
      MemorySegment memory = arena.allocate(64);
      memory.setString(0, text);
      return memory;
    }

    @Override
    public void close() {
      client.close();
      server.close();
      listener.close();
      arena.close();
    }
  }

  private static Completions sent(Transfers transfers) throws InterruptedException {
    Completions completions = new Completions(1);
    assertEquals(1, transfers.awaitSends(completions, SOON));
    return completions;
  }

  private static Completions received(Transfers transfers) throws InterruptedException {
    Completions completions = new Completions(1);
    assertEquals(1, transfers.awaitReceives(completions, SOON));
    assertTrue(completions.isSuccess(0), () -> completions.describe(0));
    return completions;
  }

  private static void assertSuccess(long id, Completions completions) {
    assertTrue(completions.isSuccess(0), () -> completions.describe(0));
    assertEquals(id, completions.id(0));
  }

  @DeviceTest
  void sends() throws Exception {
    try (Two two = Two.connected()) {
      MemoryRegion inbox = two.far().registerMessages(two.memory(""));
      MemoryRegion outbox = two.near().registerMessages(two.memory("..one buffer"));
      assertTrue(two.far().receive(11, inbox, 8, 32));
      assertTrue(two.near().send(12, outbox, 2, 11));
      assertSuccess(12, sent(two.near()));
      Completions got = received(two.far());
      assertEquals(11, got.id(0));
      assertEquals(11, got.byteLength(0));
      assertEquals("one buffer", inbox.memory().getString(8));
      assertThrows(IndexOutOfBoundsException.class, () -> two.near().send(1, outbox, 60, 5));
      outbox.close();
      assertThrows(IllegalStateException.class, () -> two.near().send(1, outbox, 0, 5));
    }
  }

  @DeviceTest
  void gathersAndScatters() throws Exception {
    try (Two two = Two.connected()) {
      MemoryRegion inbox = two.far().registerMessages(two.memory(""));
      ReceiveList receives = new ReceiveList(1, 3);
      receives.id(0, 71);
      receives.local(0, 0, inbox, 20, 2);
      receives.local(0, 1, inbox, 10, 3);
      receives.local(0, 2, inbox, 0, 10);
      assertEquals(1, two.far().post(receives));

      MemoryRegion outbox = two.near().registerMessages(two.memory("abcdefghij"));
      SendList sends = new SendList(1, 3);
      sends.send(0).id(72).local(outbox, 6, 2).local(outbox, 0, 1).local(outbox, 3, 3).signaled();
      assertEquals(1, two.near().post(sends));
      assertSuccess(72, sent(two.near()));
      assertEquals(6, received(two.far()).byteLength(0));
      assertEquals("gh", inbox.memory().getString(20));
      assertEquals("ade", inbox.memory().getString(10));
      assertEquals("f", inbox.memory().getString(0));
    }
  }

  @DeviceTest
  void reads() throws Exception {
    try (Two two = Two.connected()) {
      MemoryRegion source = two.far().registerReadable(two.memory("abcdefghij"));
      MemoryRegion sink = two.near().registerMessages(two.memory(""));
      assertTrue(two.near().read(13, sink, 40, 4, source.start() + 2, source.rkey()));
      Completions done = sent(two.near());
      assertSuccess(13, done);
      assertEquals(CompletionOpcode.RDMA_READ, done.opcode(0));
      assertEquals("cdef", sink.memory().getString(40));

      SendList list = new SendList(1, 3);
      list.read(0)
          .id(9)
          .local(sink, 20, 1)
          .local(sink, 10, 2)
          .local(sink, 0, 3)
          .remote(source.start(), source.rkey())
          .signaled();
      assertEquals(1, two.near().post(list));
      assertSuccess(9, sent(two.near()));
      assertEquals("a", sink.memory().getString(20));
      assertEquals("bc", sink.memory().getString(10));
      assertEquals("def", sink.memory().getString(0));

      // What may be read may not be written.
      assertTrue(two.near().write(14, sink, 0, 4, source.start(), source.rkey()));
      assertEquals(CompletionStatus.REM_ACCESS_ERR, sent(two.near()).status(0));
      assertEquals("abcdefghij", source.memory().getString(0));
    }
  }

  @DeviceTest
  void writes() throws Exception {
    try (Two two = Two.connected()) {
      MemoryRegion sink = two.far().registerWritable(two.memory(""));
      MemoryRegion source = two.near().registerMessages(two.memory("abcdefghij"));
      assertTrue(two.near().write(14, source, 5, 6, sink.start() + 40, sink.rkey()));
      assertSuccess(14, sent(two.near()));
      Await.until("the data of the write", () -> sink.memory().getString(40).equals("fghij"));

      SendList list = new SendList(1, 3);
      list.write(0)
          .id(10)
          .local(source, 8, 2)
          .local(source, 0, 1)
          .local(source, 4, 3)
          .remote(sink.start(), sink.rkey())
          .signaled();
      assertEquals(1, two.near().post(list));
      assertSuccess(10, sent(two.near()));
      Await.until("the data of the write", () -> sink.memory().getString(0).equals("ijaefg"));

      MemorySegment heap = MemorySegment.ofArray(new byte[] {'i', 'n', 0});
      assertTrue(two.near().writeInline(15, heap, sink.start() + 20, sink.rkey()));
      assertSuccess(15, sent(two.near()));
      Await.until("the data of the write", () -> sink.memory().getString(20).equals("in"));

      // What may be written may not be read.
      assertTrue(two.near().read(16, source, 0, 4, sink.start(), sink.rkey()));
      assertEquals(CompletionStatus.REM_ACCESS_ERR, sent(two.near()).status(0));
    }
  }

  @DeviceTest
  void sendsInline() throws Exception {
    try (Two two = Two.connected()) {
      MemoryRegion inbox = two.far().registerMessages(two.memory(""));
      for (int i = 0; i < 3; i++) {
        assertTrue(two.far().receive(i, inbox, 0, 64));
        byte[] word = {(byte) ('a' + i), 0};
        assertTrue(two.near().sendInline(i, MemorySegment.ofArray(word)));
        assertSuccess(i, sent(two.near()));
        assertEquals(i, received(two.far()).id(0));
        assertEquals("" + (char) ('a' + i), inbox.memory().getString(0));
      }
      int room = two.client().id().queuePair().orElseThrow().capacity().maxInlineData();
      assertThrows(
          RuntimeException.class,
          () -> two.near().sendInline(1, MemorySegment.ofArray(new byte[room + 1])));
    }
  }

  @DeviceTest
  void messageMemoryHasNoRemoteAccess() throws Exception {
    try (Two two = Two.connected()) {
      MemoryRegion messages = two.far().registerMessages(two.memory("secret"));
      MemoryRegion own = two.near().registerMessages(two.memory(""));
      assertTrue(two.near().read(1, own, 0, 6, messages.start(), messages.rkey()));
      assertEquals(CompletionStatus.REM_ACCESS_ERR, sent(two.near()).status(0));
      assertEquals(
          -1,
          own.memory().getString(0).indexOf('s'),
          "what a failed READ leaves there is undefined");
    }
  }

  @DeviceTest
  void fullQueuePostsNoMore() throws Exception {
    try (Two two = Two.connected()) {
      MemoryRegion inbox = two.far().registerMessages(two.memory(""));
      int taken = 0;
      while (taken < 1000 && two.far().receive(taken, inbox, 0, 64)) {
        taken++;
      }
      int room = two.server().id().queuePair().orElseThrow().capacity().receiveRequests();
      assertTrue(taken >= room && taken < 1000, () -> "room for " + room);
      ReceiveList more = new ReceiveList(1, 1);
      more.local(0, inbox, 0, 64);
      assertEquals(0, two.far().post(more));
    }
  }

  @DeviceTest
  void disconnectingFlushes() throws Exception {
    try (Two two = Two.connected()) {
      Transfers far = two.far();
      MemoryRegion inbox = far.registerMessages(two.memory(""));
      assertTrue(far.receive(31, inbox, 0, 8));
      assertTrue(far.receive(32, inbox, 8, 8));
      two.client().disconnect(SOON);
      Completions flushed = new Completions(1);
      for (long id = 31; id <= 32; id++) {
        assertEquals(1, far.awaitReceives(flushed, SOON));
        assertEquals(id, flushed.id(0));
        assertEquals(CompletionStatus.WR_FLUSH_ERR, flushed.status(0));
        assertFalse(flushed.describe(0).contains("invalid"), flushed.describe(0));
      }
      assertEquals(EventType.DISCONNECTED, two.server().end().orElseThrow().type());
    }
  }

  @DeviceTest
  void waitsEndAfterTheTimeoutAndOnClose() throws Exception {
    try (Two two = Two.connected()) {
      Completions none = new Completions(1);
      assertEquals(0, two.near().awaitSends(none, Duration.ofMillis(50)));
      assertEquals(0, two.near().awaitReceives(none, Duration.ofMillis(50)));
      Transfers far = two.far();
      var waiting = new FutureTask<>(() -> far.awaitReceives(new Completions(1), SOON));
      Await.waits(Thread.startVirtualThread(waiting));
      assertFalse(waiting.isDone());
      two.server().close();
      var ended = assertThrows(ExecutionException.class, waiting::get);
      assertInstanceOf(IllegalStateException.class, ended.getCause());
    }
  }
}
