package dev.verbena.sockets;

import static dev.verbena.testing.Environment.BOOKWORM;
import static dev.verbena.testing.Environment.SOFT;
import static dev.verbena.testing.Need.CM;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.verbena.cm.ConnectionEvent;
import dev.verbena.cm.ConnectionException;
import dev.verbena.cm.ConnectionParameters;
import dev.verbena.cm.Endpoint;
import dev.verbena.cm.PortSpace;
import dev.verbena.testing.Await;
import dev.verbena.testing.DeviceTest;
import dev.verbena.testing.Needs;
import dev.verbena.testing.Once;
import dev.verbena.testing.Rig;
import dev.verbena.values.AccessFlag;
import dev.verbena.values.QueuePairCapacity;
import dev.verbena.verbs.CompletionQueue;
import dev.verbena.verbs.Completions;
import dev.verbena.verbs.MemoryRegion;
import dev.verbena.verbs.QueuePair;
import dev.verbena.verbs.ReceiveList;
import dev.verbena.verbs.SendList;
import java.io.IOException;
import java.lang.foreign.ValueLayout;
import java.net.InetSocketAddress;
import java.net.SocketException;
import java.net.StandardSocketOptions;
import java.nio.ByteBuffer;
import java.nio.channels.ServerSocketChannel;
import java.nio.channels.SocketChannel;
import java.time.Duration;
import java.util.Random;
import java.util.concurrent.FutureTask;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;

/** A peer that does not keep to the protocol of rsockets: its connection ends, nothing else. */
@Needs(CM)
@Once(value = SOFT, reason = "messages that the protocol of rsockets in Java refuses")
class HostilePeerTest {
  private static final RdmaSelectorProvider RDMA = RdmaSelectorProvider.provider();
  private static final Duration LONG = Duration.ofMinutes(10);

  /** The random messages; 1,000,000 by hand. */
  private static final int MESSAGES = Integer.getInteger("verbena.sockets.messages", 5_000);

  private static final long SEED = Long.getLong("verbena.seed", 42);

  private ServerSocketChannel listener;

  @BeforeEach
  void listen() throws IOException {
    listener = RDMA.openServerSocketChannel().bind(new InetSocketAddress(Rig.addressB(), 0));
  }

  @AfterEach
  void close() throws IOException {
    listener.close();
  }

  /** A peer by verbs: it sends whatever a test wants. */
  private final class Peer implements AutoCloseable {
    private static final int REQUESTS = 64;
    private static final int SIZE = 1 << 16;

    private final Endpoint endpoint;
    private final QueuePair queuePair;
    private final MemoryRegion memory;
    private final SendList sends = new SendList(3, 1);
    private final Completions completions = new Completions(REQUESTS);
    private ConnectionData victim;

    Peer() throws Exception {
      endpoint =
          Endpoint.resolve(
              PortSpace.TCP,
              new InetSocketAddress(Rig.addressA(), 0),
              (InetSocketAddress) listener.getLocalAddress(),
              LONG);
      queuePair = endpoint.id().queues().createQueuePair(QueuePairCapacity.of(REQUESTS));
      memory =
          endpoint
              .id()
              .domain()
              .allocateMemory(SIZE, AccessFlag.LOCAL_WRITE, AccessFlag.REMOTE_WRITE);
      assertEquals(REQUESTS, queuePair.post(new ReceiveList(REQUESTS, 1), 0, REQUESTS));
    }

    /** Connects with the private data of an rsocket. */
    Peer connected() throws Exception {
      return connected(REQUESTS, ConnectionData.SGES, 4096);
    }

    /** Connects with numbers of messages, of SGEs and of bytes that no rsocket tells. */
    Peer connected(int credits, int entries, int length) throws Exception {
      connect(
          new ConnectionData(
                  false,
                  credits,
                  0,
                  new ConnectionData.RemoteMemory(memory.start(), memory.rkey(), entries),
                  new ConnectionData.RemoteMemory(memory.start() + 1024, memory.rkey(), length))
              .toBytes());
      return this;
    }

    void connect(byte[] privateData) throws Exception {
      ConnectionEvent event = endpoint.connect(ConnectionParameters.DEFAULT, privateData, LONG);
      victim = ConnectionData.read(event.privateData());
    }

    /** Sends immediate data with data; returns whether that succeeded. */
    boolean write(int immediate, long address, int key, int length) {
      sends
          .writeWithImmediate(0, immediate)
          .local(memory, 0, length)
          .remote(address, key)
          .signaled();
      return post(0);
    }

    boolean message(int operation, int value) {
      return write(operation << 29 | value, victim.buffer().address(), victim.buffer().key(), 0);
    }

    boolean writeSilently(long address, int key, int length) {
      sends.write(1).local(memory, 0, length).remote(address, key).signaled();
      return post(1);
    }

    boolean send(int length) {
      sends.send(2).local(memory, 0, length).signaled();
      return post(2);
    }

    private boolean post(int request) {
      try {
        assertEquals(1, queuePair.post(sends, request, 1));
      } catch (IllegalStateException e) {
        return false; // The connection has ended.
      }
      CompletionQueue queue = endpoint.id().queues().sendCompletions();
      while (queue.poll(completions, 1) == 0) {
        Thread.onSpinWait();
      }
      return completions.isSuccess(0);
    }

    /** Counts the bytes of the stream that arrive, until there are as many as that. */
    int receivedData(int expected) {
      CompletionQueue queue = endpoint.id().queues().receiveCompletions();
      int bytes = 0;
      while (bytes < expected) {
        if (queue.poll(completions, 1) == 1
            && RsocketMessage.operation(completions.immediate(0)) == RsocketMessage.DATA) {
          bytes += RsocketMessage.value(completions.immediate(0));
        }
      }
      return bytes;
    }

    @Override
    public void close() {
      endpoint.close();
      memory.close();
    }
  }

  /** Sends messages that violate the protocol. */
  private interface Attack {
    void run(Peer peer);
  }

  private void assertViolation(String text, Attack attack) throws Exception {
    try (Peer peer = new Peer().connected();
        SocketChannel channel = listener.accept()) {
      FutureTask<Integer> read =
          ChannelBehaviour.inBackground(() -> channel.read(ByteBuffer.allocate(1 << 20)));
      attack.run(peer);
      Throwable failure =
          assertThrows(java.util.concurrent.ExecutionException.class, read::get).getCause();
      assertEquals(SocketException.class, failure.getClass());
      assertTrue(failure.getMessage().contains(text), failure::getMessage);
      assertThrows(SocketException.class, () -> channel.read(ByteBuffer.allocate(1)));
      assertThrows(SocketException.class, () -> channel.write(ByteBuffer.allocate(1)));
      Await.until("the end of the connection", () -> peer.endpoint.end().isPresent());
    }
  }

  @DeviceTest
  void dataBeyondTheGrantIsAViolation() throws Exception {
    assertViolation(
        "were granted",
        peer -> {
          boolean _ = peer.message(RsocketMessage.DATA, peer.victim.buffer().length() + 1);
        });
  }

  @DeviceTest
  void hugeLengthIsAViolation() throws Exception {
    assertViolation("were granted", peer -> peer.message(RsocketMessage.DATA, (1 << 29) - 1));
  }

  @DeviceTest
  void unknownOperationsAreViolations() throws Exception {
    for (int operation : new int[] {1, 2, 3, 5}) {
      assertViolation("unknown operation", peer -> peer.message(operation, 0));
    }
  }

  @DeviceTest
  void unknownControlMessageIsAViolation() throws Exception {
    assertViolation("unknown value", peer -> peer.message(RsocketMessage.CONTROL, 3));
  }

  @DeviceTest
  void areaThatDoesNotExistIsAViolation() throws Exception {
    assertViolation("an area", peer -> peer.message(RsocketMessage.AREA, 0));
  }

  @DeviceTest
  void sendIsAViolation() throws Exception {
    assertViolation("without immediate data", peer -> peer.send(0));
  }

  @DeviceTest
  @Once(value = BOOKWORM, reason = "the same in all versions, but not on software devices")
  void sendWithDataEndsTheConnection() throws Exception {
    String ofTooShortReceive = Rig.labGuest().isPresent() ? "LOC_QP_OP_ERR" : "LOC_LEN_ERR";
    assertViolation(ofTooShortReceive, peer -> peer.send(100));
  }

  @DeviceTest
  void dataAfterTheEndIsAViolation() throws Exception {
    try (Peer peer = new Peer().connected();
        SocketChannel channel = listener.accept()) {
      assertTrue(peer.message(RsocketMessage.CONTROL, RsocketMessage.SHUTDOWN));
      assertEquals(-1, channel.read(ByteBuffer.allocate(1)));
      assertTrue(peer.message(RsocketMessage.DATA, 1));
      assertEquals(-1, channel.read(ByteBuffer.allocate(1)));
      Await.until("the end of the connection", () -> peer.endpoint.end().isPresent());
      var failure =
          assertThrows(SocketException.class, () -> channel.write(ByteBuffer.allocate(1)));
      assertTrue(failure.getMessage().contains("after its end"), failure::getMessage);
    }
  }

  @DeviceTest
  void foreignPrivateDataIsRejected() throws Exception {
    byte[] other = new byte[ConnectionData.SIZE];
    other[0] = 2;
    for (byte[] data : new byte[][] {other, new byte[10], new byte[0]}) {
      try (Peer peer = new Peer()) {
        assertThrows(ConnectionException.class, () -> peer.connect(data));
      }
    }
    echo();
  }

  /** A good connection still works. */
  private void echo() throws Exception {
    try (SocketChannel client =
        RDMA.openSocketChannel().bind(new InetSocketAddress(Rig.addressA(), 0))) {
      client.connect(listener.getLocalAddress());
      try (SocketChannel server = listener.accept()) {
        assertEquals(1, client.write(ByteBuffer.allocate(1)));
        assertEquals(1, server.read(ByteBuffer.allocate(2)));
      }
    }
  }

  /** Reads and writes until the connection ends; returns the number of bytes that were read. */
  private static long serve(SocketChannel channel) throws IOException {
    long total = 0;
    try (channel) {
      ByteBuffer buffer = ByteBuffer.allocateDirect(1 << 16);
      int count = 0;
      while (count >= 0) {
        count = channel.read(buffer.clear());
        total += Math.max(0, count);
        channel.configureBlocking(false);
        int _ = channel.write(buffer.flip());
        channel.configureBlocking(true);
      }
    } catch (SocketException e) {
      assertTrue(e.getMessage().contains("the "), e::toString);
    }
    return total;
  }

  @DeviceTest
  void randomMessagesEndTheirConnectionOnly() throws Exception {
    Random random = new Random(SEED);
    int sent = 0;
    while (sent < MESSAGES) {
      try (Peer peer = new Peer().connected()) {
        SocketChannel channel = listener.accept();
        FutureTask<Long> server = ChannelBehaviour.inBackground(() -> serve(channel));
        int granted = peer.victim.buffer().length();
        long written = 0;
        boolean isOpen = true;
        for (int i = 0; i < 200 && isOpen && sent < MESSAGES; i++, sent++) {
          int length = random.nextInt(2000);
          if (random.nextInt(100) < 95 && written + length <= granted) { // A good one.
            isOpen =
                switch (random.nextInt(4)) {
                  case 0 -> peer.message(RsocketMessage.GRANT, random.nextInt());
                  case 1 -> peer.message(RsocketMessage.CONTROL, RsocketMessage.KEEPALIVE);
                  default -> {
                    long at = peer.victim.buffer().address() + written;
                    written += length;
                    yield peer.write(length, at, peer.victim.buffer().key(), length);
                  }
                };
          } else {
            isOpen = attack(peer, random, length);
          }
        }
        if (isOpen) {
          boolean _ = peer.message(RsocketMessage.CONTROL, RsocketMessage.DISCONNECT);
        }
        assertTrue(server.get() <= written + (1 << 20), () -> "seed " + SEED);
      }
    }
    echo();
  }

  /** Writes so much that bytes wait for the peer, which has granted 4096 bytes. */
  private static void fill(SocketChannel channel) throws IOException {
    channel.configureBlocking(false);
    while (channel.write(ByteBuffer.allocate(100)) > 0) {
      // Until it is full.
    }
    channel.configureBlocking(true);
  }

  /** Writes an SGE to the victim's table, and grants it with a number of messages. */
  private static boolean grant(Peer peer, int entry, long address, int key, int length, int to) {
    long table = peer.victim.table().address();
    var memory = peer.memory.memory();
    memory.set(ValueLayout.JAVA_LONG, 0, address);
    memory.set(ValueLayout.JAVA_INT, Long.BYTES, key);
    memory.set(ValueLayout.JAVA_INT, Long.BYTES + Integer.BYTES, length);
    return peer.write(
        RsocketMessage.GRANT << 29 | to,
        table + (long) entry * ConnectionData.SGE_SIZE,
        peer.victim.table().key(),
        ConnectionData.SGE_SIZE);
  }

  /** Lets bytes wait, does something, and closes: the victim is released, and others go on. */
  private void attackWaiting(Attack attack) throws Exception {
    try (Peer peer = new Peer().connected()) {
      SocketChannel channel = listener.accept();
      fill(channel);
      attack.run(peer);
      FutureTask<Long> served = ChannelBehaviour.inBackground(() -> serve(channel));
      boolean _ = peer.message(RsocketMessage.CONTROL, RsocketMessage.DISCONNECT);
      assertEquals(0, served.get());
    }
    echo();
  }

  @DeviceTest
  void endOfTheConnectionDropsBytesThatWait() throws Exception {
    attackWaiting(_ -> {});
    attackWaiting(
        peer -> assertTrue(peer.message(RsocketMessage.CONTROL, RsocketMessage.SHUTDOWN)));
  }

  @DeviceTest
  void grantsOutsideOfMemoryEndTheirConnectionOnly() throws Exception {
    for (int length : new int[] {1, 4096, Integer.MAX_VALUE, -1}) {
      for (int entry : new int[] {0, 1}) {
        attackWaiting(
            peer -> {
              boolean _ =
                  grant(peer, entry, peer.memory.start() - 1, peer.memory.rkey(), length, 64);
            });
        attackWaiting(
            peer -> {
              boolean _ = grant(peer, entry, -1, peer.memory.rkey(), length, 64);
            });
        attackWaiting(
            peer -> {
              boolean _ = grant(peer, entry, peer.memory.start(), ~peer.memory.rkey(), length, 64);
            });
      }
    }
  }

  /** Numbers of messages that go back, or further than there are. */
  @DeviceTest
  void numbersOfMessagesAreAnyNumbers() throws Exception {
    for (int to : new int[] {0, 1, 63, 64, 0x7fff, 0x8000, 0xffff, 0x10000, 0x1fff_ffff}) {
      attackWaiting(
          peer -> {
            boolean _ = grant(peer, 1, peer.memory.start() + 8192, peer.memory.rkey(), 4096, to);
            boolean _ = grant(peer, 0, peer.memory.start() + 8192, peer.memory.rkey(), 0, 0);
            boolean _ = peer.message(RsocketMessage.GRANT, to);
            boolean _ = peer.message(RsocketMessage.GRANT, to - 1);
          });
    }
  }

  /** A grant is taken once, however often it is told. */
  @DeviceTest
  void grantsThatAreToldTwiceAreTakenOnce() throws Exception {
    attackWaiting(
        peer -> {
          for (int i = 0; i < 4; i++) {
            long address = peer.memory.start() + 8192;
            assertTrue(grant(peer, 1, address, peer.memory.rkey(), 1000, 64));
          }
          assertEquals(4096 + 1000, peer.receivedData(4096 + 1000));
          assertTrue(grant(peer, 0, peer.memory.start() + 8192, peer.memory.rkey(), 7, 64));
          assertEquals(7, peer.receivedData(1), "by the next grant");
        });
  }

  /** Any numbers in the private data: bytes that wait do not keep the connection. */
  @DeviceTest
  void numbersInPrivateDataAreAnyNumbers() throws Exception {
    for (int credits : new int[] {0, 1, 2, 3, 4, 7, 8, 0x7fff, 0x8000, 0xffff}) {
      for (int length : new int[] {0, 1, 4096, Integer.MAX_VALUE, -1}) {
        try (Peer peer =
            new Peer().connected(credits, length == 1 ? Integer.MAX_VALUE : 1, length)) {
          SocketChannel channel = listener.accept();
          try {
            fill(channel);
            boolean _ = peer.message(RsocketMessage.GRANT, credits + 1);
          } catch (SocketException e) {
            assertTrue(e.getMessage().contains("the "), e::toString); // Outside of its memory.
          }
          FutureTask<Long> served = ChannelBehaviour.inBackground(() -> serve(channel));
          boolean _ = peer.message(RsocketMessage.CONTROL, RsocketMessage.DISCONNECT);
          assertEquals(0, served.get());
        }
      }
    }
    echo();
  }

  /** A peer that grants nothing more does not keep a connection that is closed for ever. */
  @DeviceTest
  void closeEndsWhileThePeerGrantsNothing() throws Exception {
    try (Peer peer = new Peer().connected()) {
      SocketChannel channel = listener.accept();
      fill(channel);
      channel.setOption(StandardSocketOptions.SO_LINGER, 1);
      channel.close();
      boolean _ = grant(peer, 1, peer.memory.start() - 1, peer.memory.rkey(), 4096, 64);
      Await.until("the end of the connection", () -> peer.endpoint.end().isPresent());
    }
    echo();
  }

  private static boolean attack(Peer peer, Random random, int length) {
    ConnectionData.RemoteMemory buffer = peer.victim.buffer();
    ConnectionData.RemoteMemory table = peer.victim.table();
    for (long i = 0; i < 64; i += Long.BYTES) {
      peer.memory.memory().set(ValueLayout.JAVA_LONG, i, random.nextLong());
    }
    return switch (random.nextInt(6)) {
      case 0 -> peer.write(random.nextInt(), buffer.address(), buffer.key(), length);
      case 1 -> peer.writeSilently(table.address(), table.key(), 32);
      case 2 -> peer.writeSilently(buffer.address() - 4096 + random.nextInt(8192), buffer.key(), 8);
      case 3 -> peer.write(length, random.nextLong(), buffer.key(), length);
      case 4 -> peer.send(random.nextInt(16));
      default -> peer.writeSilently(buffer.address() + (1 << 20), random.nextInt(), length);
    };
  }
}
