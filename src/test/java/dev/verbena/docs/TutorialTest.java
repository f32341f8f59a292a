package dev.verbena.docs;

import static java.nio.charset.StandardCharsets.UTF_8;
import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.verbena.Errno;
import dev.verbena.VerbsException;
import dev.verbena.address.QueuePairAddress;
import dev.verbena.attributes.PortState;
import dev.verbena.soft.SoftNetwork;
import dev.verbena.values.AccessFlag;
import dev.verbena.values.AsyncEventType;
import dev.verbena.values.CompletionStatus;
import dev.verbena.values.QueuePairCapacity;
import dev.verbena.values.QueuePairState;
import dev.verbena.values.QueuePairType;
import dev.verbena.verbs.AsyncEvents;
import dev.verbena.verbs.CompletionChannel;
import dev.verbena.verbs.CompletionQueue;
import dev.verbena.verbs.Completions;
import dev.verbena.verbs.Context;
import dev.verbena.verbs.Device;
import dev.verbena.verbs.MemoryRegion;
import dev.verbena.verbs.ProtectionDomain;
import dev.verbena.verbs.QueuePair;
import dev.verbena.verbs.ReceiveList;
import dev.verbena.verbs.RemoteMemory;
import dev.verbena.verbs.SendList;
import java.lang.foreign.ValueLayout;
import java.util.List;
import java.util.Map;
import java.util.stream.IntStream;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

/**
 * A tutorial: read it from top to bottom. Each step is a test, which you can run, change and debug
 * without RDMA hardware: {@code mvn test -Dtest=TutorialTest}.
 *
 * <p>RDMA moves data from the memory of one program to the memory of another. The devices do the
 * work: the programs <em>post</em> work requests to queues, and <em>poll</em> completions. The
 * layers above, from connections by IP address to NIO channels, are in README, "Which interface".
 */
@Tag("host")
class TutorialTest {
  /** Two devices in plain Java. With RDMA hardware, {@code Device.list()} returns its devices. */
  private final SoftNetwork network = SoftNetwork.of("left=192.0.2.1,right=192.0.2.2");

  /** Fails if a step left an object open: C's counterpart of each must be destroyed. */
  @AfterEach
  void everythingIsClosed() {
    assertEquals(Map.of(), network.openObjects());
    network.close();
  }

  /** Step 1. An open device is a context: it answers queries, and creates all other objects. */
  @Test
  void openADevice() throws Exception {
    List<Device> devices = network.call(Device::list); // call: as if the host had these devices
    assertEquals(List.of("left", "right"), devices.stream().map(Device::name).toList());

    try (Context context = devices.getFirst().open()) {
      assertTrue(context.deviceAttributes().maxQueuePairs() > 0);
      assertEquals(PortState.ACTIVE, context.port(1).attributes().state());
    }
  }

  /**
   * Step 2. A device accesses memory that is registered with it. A protection domain contains what
   * may be used together: here regions of memory, later queue pairs.
   */
  @Test
  void registerMemory() throws Exception {
    try (Context context = open("left");
        ProtectionDomain domain = context.allocateProtectionDomain();
        MemoryRegion region =
            domain.allocateMemory(4096, AccessFlag.LOCAL_WRITE, AccessFlag.REMOTE_WRITE)) {
      // The program uses the memory as any other.
      region.memory().set(ValueLayout.JAVA_LONG, 8, 42);
      assertEquals(42, region.memory().get(ValueLayout.JAVA_LONG, 8));

      // The peer needs address, length and remote key, and sends all three with each request.
      byte[] description = RemoteMemory.of(region).toBytes(); // to the peer, in any way
      assertEquals(region.rkey(), RemoteMemory.fromBytes(description).rkey());
    }
  }

  /**
   * Step 3. A queue pair has a queue for send requests and one for receive requests. A reliable
   * connected one (RC) has one peer. Each end has to know the address of the other.
   */
  @Test
  void connectQueuePairs() throws Exception {
    try (Context left = open("left");
        Context right = open("right");
        CompletionQueue leftQueue = left.createCompletionQueue(16);
        CompletionQueue rightQueue = right.createCompletionQueue(16);
        ProtectionDomain leftDomain = left.allocateProtectionDomain();
        ProtectionDomain rightDomain = right.allocateProtectionDomain();
        QueuePair client =
            QueuePair.builder(leftDomain, QueuePairType.RC).completions(leftQueue).create();
        QueuePair server =
            QueuePair.builder(rightDomain, QueuePairType.RC).completions(rightQueue).create()) {
      assertEquals(QueuePairState.RESET, client.state());

      byte[] address = server.localAddress().toBytes(); // to the peer, for example over TCP
      client.connect(QueuePairAddress.fromBytes(address));
      server.connect(client.localAddress());
      assertEquals(QueuePairState.RTS, client.state()); // ready to send
    }
  }

  /** The objects of steps 1 to 3, at one end, for the steps that follow. */
  private static final class End implements AutoCloseable {
    final Context context;
    final CompletionChannel channel;
    final CompletionQueue queue;
    final ProtectionDomain domain;
    final MemoryRegion memory;
    final QueuePair queuePair;

    End(Context context) {
      this.context = context;
      channel = context.createCompletionChannel();
      queue = context.completionQueue(16).channel(channel).create();
      domain = context.allocateProtectionDomain();
      memory = domain.allocateMemory(4096, AccessFlag.LOCAL_WRITE, AccessFlag.REMOTE_WRITE);
      queuePair =
          QueuePair.builder(domain, QueuePairType.RC)
              .completions(queue)
              .capacity(QueuePairCapacity.of(8)) // requests in each queue; the default is 1
              .create();
    }

    /** Closes all of them: they were created on the context. */
    @Override
    public void close() {
      context.close();
    }
  }

  private Context open(String device) throws Exception {
    return network.call(() -> Device.named(device).open());
  }

  private static void connect(End one, End other) {
    one.queuePair.connect(other.queuePair.localAddress());
    other.queuePair.connect(one.queuePair.localAddress());
  }

  /** Polls until a request has completed. Nothing else tells that it has. */
  private static Completions poll(CompletionQueue queue) {
    Completions completions = new Completions(1); // programs reuse it: polling allocates nothing
    while (queue.poll(completions) == 0) {
      Thread.onSpinWait();
    }
    return completions;
  }

  /** Step 4. An RDMA write: the program at the other end does nothing, and notices nothing. */
  @Test
  void writeToTheMemoryOfThePeer() throws Exception {
    try (End left = new End(open("left"));
        End right = new End(open("right"))) {
      connect(left, right);
      left.memory.memory().setString(0, "written");

      // A list is formatted once, and can be posted many times.
      SendList sends = new SendList(1, 1); // one request, with one scatter/gather element
      sends
          .write(0)
          .id(7) // of your choice: the completion has it
          .local(left.memory, 0, 64)
          .remote(right.memory.start(), right.memory.rkey())
          .signaled(); // or its success causes no completion
      assertEquals(1, left.queuePair.post(sends)); // 0: the queue is full, poll first

      Completions completions = poll(left.queue);
      assertTrue(completions.isSuccess(0), () -> completions.describe(0));
      assertEquals(7, completions.id(0));
      assertEquals("written", right.memory.memory().getString(0));
    }
  }

  /** Step 5. A message needs a receive request at the peer, posted before, which says where to. */
  @Test
  void sendMessages() throws Exception {
    try (End left = new End(open("left"));
        End right = new End(open("right"))) {
      connect(left, right);
      ReceiveList receives = new ReceiveList(2, 1);
      for (int i = 0; i < receives.size(); i++) {
        receives.id(i, i);
        receives.local(i, right.memory, i * 64L, 64);
      }
      assertEquals(2, right.queuePair.post(receives));

      SendList sends = new SendList(1, 1);
      sends.send(0).local(left.memory, 0, 5).signaled();
      for (String text : List.of("first", "other")) {
        left.memory.memory().setString(0, text);
        assertEquals(1, left.queuePair.post(sends));
        assertTrue(poll(left.queue).isSuccess(0)); // until here the device may read the memory
      }

      for (int i = 0; i < receives.size(); i++) {
        Completions received = poll(right.queue);
        assertEquals(i, received.id(0)); // RC delivers in order
        assertEquals(5, received.byteLength(0));
      }
      byte[] second = right.memory.memory().asSlice(64, 5).toArray(ValueLayout.JAVA_BYTE);
      assertArrayEquals("other".getBytes(UTF_8), second);
    }
  }

  /** Step 6. A thread that polls occupies a processor. With a completion channel it sleeps. */
  @Test
  void sleepUntilACompletionArrives() throws Exception {
    try (End left = new End(open("left"));
        End right = new End(open("right"))) {
      connect(left, right);
      right.queue.requestNotification(); // one event, for the next completion
      assertEquals(1, right.queuePair.post(new ReceiveList(1, 1))); // of a message without bytes

      SendList sends = new SendList(1, 1);
      sends.send(0).signaled();
      assertEquals(1, left.queuePair.post(sends));

      CompletionQueue ready = right.channel.take(); // sleeps; a virtual thread leaves its carrier
      ready.requestNotification(); // before polling: a completion in between would cause no event
      assertTrue(poll(ready).isSuccess(0));
      assertTrue(poll(left.queue).isSuccess(0));
    }
  }

  /**
   * Step 7. A request that fails has a completion too, signaled or not. It ends the queue pair: the
   * requests behind it fail with WR_FLUSH_ERR, so look for the first other status.
   */
  @Test
  void aRequestFails() throws Exception {
    try (End left = new End(open("left"));
        End right = new End(open("right"))) {
      connect(left, right);
      AsyncEvents events = AsyncEvents.of(right.context);
      assertNull(events.poll()); // from now on the library does not log them

      SendList sends = new SendList(2, 1);
      for (int i = 0; i < sends.size(); i++) {
        int wrong = right.memory.rkey() + 1;
        sends.write(i).local(left.memory, 0, 64).remote(right.memory.start(), wrong).signaled();
      }
      assertEquals(2, left.queuePair.post(sends));
      assertEquals(
          List.of(CompletionStatus.REM_ACCESS_ERR, CompletionStatus.WR_FLUSH_ERR),
          IntStream.range(0, 2).mapToObj(_ -> poll(left.queue).status(0)).toList());
      assertEquals(QueuePairState.ERR, left.queuePair.state());

      // The peer, which has no completion, learns of it by an asynchronous event. Begin again.
      assertEquals(AsyncEventType.QP_ACCESS_ERR, events.take().type());
      left.queuePair.reset();
      right.queuePair.reset();
      connect(left, right);
      sends.remote(0, right.memory.start(), right.memory.rkey()); // patches one request
      assertEquals(1, left.queuePair.post(sends, 0, 1));
      assertTrue(poll(left.queue).isSuccess(0));
    }
  }

  /** Step 8. A C function that fails is an exception, which names function, errno and remedy. */
  @Test
  void aFunctionFails() throws Exception {
    try (Context context = open("left");
        ProtectionDomain domain = context.allocateProtectionDomain()) {
      var _ = network.faults().fail("ibv_reg_mr", 1, Errno.ENOMEM); // as of too little memory
      VerbsException thrown =
          assertThrows(
              VerbsException.class, () -> domain.allocateMemory(4096, AccessFlag.LOCAL_WRITE));
      assertEquals("ibv_reg_mr", thrown.function());
      assertEquals(Errno.ENOMEM, thrown.errno());

      // What the library can check itself, it refuses before a call of C.
      MemoryRegion region = domain.allocateMemory(4096, AccessFlag.LOCAL_WRITE);
      SendList sends = new SendList(1, 1);
      assertThrows(IndexOutOfBoundsException.class, () -> sends.send(0).local(region, 4000, 1000));
    }
  }

  /**
   * Step 9. Closing an object first closes what was created on it. Afterwards its methods throw: no
   * call of C gets the address of an object that is gone.
   */
  @Test
  void closeInAnyOrder() throws Exception {
    End left = new End(open("left"));
    left.context.close();
    assertFalse(left.queuePair.isOpen());
    assertFalse(left.memory.isOpen());
    assertThrows(IllegalStateException.class, () -> left.queue.poll(new Completions(1)));
    left.queuePair.close(); // once more: nothing happens
  }
}
