package dev.verbena.verbs;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertInstanceOf;
import static org.junit.jupiter.api.Assertions.assertSame;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.verbena.address.QueuePairAddress;
import dev.verbena.fake.FakeProvider;
import dev.verbena.testing.Await;
import dev.verbena.values.AccessFlag;
import dev.verbena.values.CompletionStatus;
import dev.verbena.values.QueuePairCapacity;
import dev.verbena.values.QueuePairState;
import dev.verbena.values.QueuePairType;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.util.concurrent.FutureTask;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;

/** The verbs floor over the device in memory, where no RDMA device is needed. */
class FakeDeviceTest {
  private static final int SIZE = 4096;

  private final Arena arena = Arena.ofShared();
  private final FakeProvider provider = new FakeProvider();
  private final Context context = Device.list(provider).getFirst().open();
  private final ProtectionDomain domain = context.allocateProtectionDomain();
  private final CompletionChannel channel = context.createCompletionChannel();
  private final CompletionQueue queue = context.completionQueue(64).channel(channel).create();
  private final MemorySegment near = arena.allocate(SIZE, 8);
  private final MemorySegment far = arena.allocate(SIZE, 8);
  private final MemoryRegion nearRegion = register(near);
  private final MemoryRegion farRegion = register(far);
  private final QueuePair a = queuePair();
  private final QueuePair b = queuePair();
  private final Completions completions = new Completions(8);

  FakeDeviceTest() {
    QueuePairAddress addressOfB = b.localAddress();
    b.connect(a.localAddress());
    a.connect(addressOfB);
    for (int i = 0; i < SIZE; i++) {
      near.set(ValueLayout.JAVA_BYTE, i, (byte) (i * 7));
    }
  }

  private MemoryRegion register(MemorySegment memory) {
    return domain.registerMemory(
        memory,
        AccessFlag.LOCAL_WRITE,
        AccessFlag.REMOTE_WRITE,
        AccessFlag.REMOTE_READ,
        AccessFlag.REMOTE_ATOMIC);
  }

  private QueuePair queuePair() {
    return QueuePair.builder(domain, QueuePairType.RC)
        .completions(queue)
        .capacity(QueuePairCapacity.of(8).withSendSges(2).withReceiveSges(2))
        .create();
  }

  @AfterEach
  void close() {
    context.close();
    provider.close(); // Throws if closing the context left anything open.
    arena.close();
  }

  private void receive() {
    ReceiveList list = new ReceiveList(1, 1);
    list.id(0, 1);
    list.local(0, farRegion, 0, SIZE);
    assertEquals(1, b.post(list));
  }

  private void assertCompleted(int expected) {
    provider.internals().settle();
    assertEquals(expected, queue.poll(completions));
    for (int i = 0; i < expected; i++) {
      assertTrue(completions.isSuccess(i), completions.describe(i));
    }
  }

  @Test
  void sendAndReceive() {
    receive();
    SendList list = new SendList(1, 1);
    list.sendWithImmediate(0, 0x01020304).local(nearRegion, 8, 100).signaled();
    assertEquals(1, a.post(list));
    assertCompleted(2);
    assertTrue(completions.isReceive(0));
    assertEquals(100, completions.byteLength(0));
    assertEquals(0x01020304, completions.immediate(0));
    assertEquals(-1, near.asSlice(8, 100).mismatch(far.asSlice(0, 100)));
  }

  @Test
  void writeReadAndAtomics() {
    SendList list = new SendList(3, 1);
    list.write(0).local(nearRegion, 0, SIZE).remote(far.address(), farRegion.rkey()).signaled();
    list.read(1).local(nearRegion, 0, 8).remote(far.address() + 16, farRegion.rkey()).signaled();
    list.fetchAndAdd(2, 5)
        .local(nearRegion, 8, 8)
        .remote(far.address() + 24, farRegion.rkey())
        .signaled();
    long sixteen = near.get(ValueLayout.JAVA_LONG, 16);
    long twentyFour = near.get(ValueLayout.JAVA_LONG, 24);
    assertEquals(3, a.post(list));
    assertCompleted(3);
    assertEquals(sixteen, near.get(ValueLayout.JAVA_LONG, 0));
    assertEquals(twentyFour, near.get(ValueLayout.JAVA_LONG, 8));
    assertEquals(twentyFour + 5, far.get(ValueLayout.JAVA_LONG, 24));
  }

  @Test
  void postReturnsZeroOnFullQueue() {
    provider.internals().hold();
    SendList list = new SendList(10, 1);
    for (int i = 0; i < 10; i++) {
      list.write(i).local(nearRegion, 0, 1).remote(far.address(), farRegion.rkey()).signaled();
    }
    assertEquals(8, a.post(list));
    provider.internals().release();
    assertCompleted(8);
    assertEquals(2, a.post(list, 8, 2));
    assertCompleted(2);
  }

  @Test
  void channelWakesTheWaiter() throws Exception {
    queue.requestNotification();
    var waiting = new FutureTask<>(channel::take);
    Await.waits(Thread.ofVirtual().start(waiting));
    receive();
    SendList list = new SendList(1, 1);
    list.send(0).local(nearRegion, 0, 1).signaled();
    assertEquals(1, a.post(list));
    assertSame(queue, waiting.get());
    assertCompleted(2);
  }

  @Test
  void rejectedWriteFailsAtBothSides() throws Exception {
    SendList list = new SendList(1, 1);
    list.write(0).local(nearRegion, 0, 2).remote(far.address() + SIZE - 1, farRegion.rkey());
    assertEquals(1, a.post(list));
    provider.internals().settle();
    assertEquals(1, queue.poll(completions));
    assertEquals(CompletionStatus.REM_ACCESS_ERR, completions.status(0));
    assertEquals(QueuePairState.ERR, a.state());
    AsyncEvent event = AsyncEvents.of(context).poll(Await.LIMIT);
    assertSame(b, assertInstanceOf(AsyncEvent.OfQueuePair.class, event).queuePair());
  }

  @Test
  void invalidMemoryIsNotRegistered() {
    MemorySegment freed;
    try (Arena shortLived = Arena.ofConfined()) {
      freed = shortLived.allocate(64);
    }
    assertThrows(IllegalStateException.class, () -> register(freed));
    assertThrows(
        IllegalArgumentException.class, () -> register(MemorySegment.ofArray(new byte[64])));
    assertThrows(RuntimeException.class, () -> register(MemorySegment.NULL));
    assertThrows(NullPointerException.class, () -> register(null));
  }

  @Test
  void closedObjectsThrow() {
    context.close();
    IllegalStateException e =
        assertThrows(IllegalStateException.class, () -> a.post(new SendList(1, 1)));
    assertTrue(e.getMessage().contains("closed"), e.getMessage());
    assertThrows(IllegalStateException.class, () -> queue.poll(completions));
  }
}
