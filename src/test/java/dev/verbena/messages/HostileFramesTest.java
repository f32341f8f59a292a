package dev.verbena.messages;

import static dev.verbena.messages.ConnectionSettings.DEFAULT;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.verbena.cm.ConnectionException;
import dev.verbena.soft.SoftHosts;
import dev.verbena.testing.Await;
import dev.verbena.testing.Background;
import dev.verbena.values.AckTimeout;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.FutureTask;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/**
 * Peers send random, truncated, oversize, duplicated and forged frames, and come back when they are
 * ended, while polite clients call: the calls all succeed, and nothing is left of the others. The
 * system property {@code dev.verbena.frames} says how many frames.
 */
class HostileFramesTest {
  private static final int FRAMES = Integer.getInteger("dev.verbena.frames", 4_000);
  private static final int PEERS = 3;
  private static final int POLITE = 2;
  private static final int LIMIT = 4;
  private static final int LARGE = 8192;
  private static final Duration SOON = Await.LIMIT;
  private static final InetSocketAddress CLIENT =
      new InetSocketAddress(InetAddress.ofLiteral("192.0.2.1"), 0);
  private static final ConnectionSettings SETTINGS =
      DEFAULT
          .withSends(LIMIT)
          .withMessageSize(512)
          .withTimeout(SOON)
          .withCopies(4 * LARGE)
          .withAckTimeout(AckTimeout.ofCode(10));
  private static final long[] ADDRESSES = {0, 1, -1, Long.MIN_VALUE, Long.MAX_VALUE, 4096};
  private static final long[] LENGTHS = {
    0, 1, 512, 513, 4096, 4097, LARGE, LARGE + 1, 1L << 31, 1L << 32, -1, Long.MIN_VALUE
  };

  private final AtomicInteger frames = new AtomicInteger();
  private final AtomicInteger connections = new AtomicInteger();
  private final AtomicBoolean isOver = new AtomicBoolean();

  @ParameterizedTest
  @ValueSource(booleans = {false, true})
  void politeClientsAreAnswered(boolean inExecutor) throws Exception {
    try (SoftHosts hosts = SoftHosts.create();
        ExecutorService executor = Executors.newVirtualThreadPerTaskExecutor();
        RequestServer server =
            hosts.call(
                () ->
                    RequestServer.builder(
                            new InetSocketAddress(hosts.serverAddress(), 0),
                            request -> request.answer(request.bytes()))
                        .settings(SETTINGS)
                        .clients(POLITE + PEERS + 2)
                        .largest(LARGE)
                        .executor(inExecutor ? executor : null)
                        .open()
                        .start())) {
      InetSocketAddress address = new InetSocketAddress(hosts.serverAddress(), server.port());
      List<RequestClient> polite = new ArrayList<>();
      for (int i = 0; i < POLITE; i++) {
        polite.add(
            hosts.call(() -> RequestClient.connect(address, SETTINGS.withLocalAddress(CLIENT))));
      }
      Await.until("the polite clients", () -> server.clients() == POLITE);
      requireAllPlaces(polite);
      Map<String, Integer> before = hosts.network().openObjects();
      List<FutureTask<Integer>> calling = new ArrayList<>();
      for (RequestClient client : polite) {
        calling.add(Background.inBackground(() -> callOften(client, 0)));
        calling.add(Background.inBackground(() -> callOften(client, LARGE)));
      }
      List<FutureTask<Void>> attacking = new ArrayList<>();
      for (int i = 0; i < PEERS; i++) {
        Random random = new Random(i);
        attacking.add(Background.inBackground(() -> attack(hosts, server, random)));
      }
      for (FutureTask<Void> attack : attacking) {
        attack.get();
      }
      isOver.set(true);
      int calls = 0;
      for (FutureTask<Integer> caller : calling) {
        calls += caller.get();
      }
      System.out.println(
          inExecutor
              + " "
              + frames
              + " frames, "
              + connections
              + " connections, "
              + calls
              + " calls");
      assertTrue(calls > 0);
      Await.until("the peers to leave", () -> server.clients() == POLITE);
      requireAllPlaces(polite);
      Await.until(
          "their objects",
          () -> hosts.network().openObjects().get("queue pair").equals(before.get("queue pair")));
      Map<String, Integer> after = hosts.network().openObjects();
      assertTrue(after.get("memory region") <= before.get("memory region") + 16, "pools: " + after);
      polite.forEach(RequestClient::close);
    }
  }

  private static void requireAllPlaces(List<RequestClient> polite) throws Exception {
    for (RequestClient client : polite) {
      List<FutureTask<Integer>> calls = new ArrayList<>();
      for (int i = 0; i < LIMIT; i++) {
        calls.add(Background.inBackground(() -> call(client, LARGE - 1, 5)));
      }
      for (FutureTask<Integer> call : calls) {
        call.get();
      }
    }
  }

  private int callOften(RequestClient client, int size) throws InterruptedException {
    int calls = 0;
    while (!isOver.get()) {
      call(client, size == 0 ? calls % 512 : 513 + calls % (size - 512), calls);
      calls++;
    }
    return calls;
  }

  private static int call(RequestClient client, int size, int value) throws InterruptedException {
    byte[] bytes = new byte[size];
    Arrays.fill(bytes, (byte) value);
    MemorySegment answer = MemorySegment.ofArray(new byte[size]);
    while (true) {
      try {
        assertEquals(size, client.call(MemorySegment.ofArray(bytes), answer, SOON));
        break;
      } catch (RequestFailedException e) { // Memory for answers is no one's by right.
        assertTrue(e.getMessage().contains("other answers have the memory"), e.getMessage());
      }
    }
    assertEquals(-1, answer.mismatch(MemorySegment.ofArray(bytes)));
    return size;
  }

  private Void attack(SoftHosts hosts, RequestServer server, Random random) throws Exception {
    while (frames.get() < FRAMES) {
      try (RequestPeer peer = RequestPeer.connect(hosts, server)) {
        connections.incrementAndGet();
        boolean isPatient = random.nextInt(4) > 0;
        boolean isAlive = true;
        for (int i = random.nextInt(400); i > 0 && isAlive; i--) {
          frames.incrementAndGet();
          boolean isAnswered = send(peer, random);
          isAlive =
              (isAnswered && isPatient)
                  ? (peer.takeId() != -1 || random.nextInt(100) > 0)
                  : (random.nextInt(8) == 0 || peer.awaitSent());
        }
        if (random.nextInt(4) == 0) {
          peer.endpoint.id().disconnect();
        }
      } catch (ConnectionException | AssertionError e) {
        // No place is free yet; or the queue is full, since the connection has ended.
      } catch (IllegalStateException | dev.verbena.VerbsException e) {
        // The connection has ended.
      }
    }
    return null;
  }

  /** Sends a frame; returns whether the server answers it. */
  private static boolean send(RequestPeer peer, Random random) {
    MemorySegment frame = peer.memory.memory();
    int choice = random.nextInt(400);
    if (choice < 8) {
      byte[] bytes = new byte[random.nextInt(700)];
      random.nextBytes(bytes);
      MemorySegment.copy(bytes, 0, frame, ValueLayout.JAVA_BYTE, 0, bytes.length);
      peer.sendFrame(bytes.length);
      return false;
    }
    boolean isLarge = random.nextInt(3) == 0;
    boolean hasTarget = random.nextInt(3) == 0;
    int kind =
        RequestFrame.REQUEST
            | (isLarge ? RequestFrame.LARGE : 0)
            | (hasTarget ? RequestFrame.TARGET : 0);
    int milliseconds = random.nextInt(3) == 0 ? random.nextInt() : random.nextInt(3);
    RequestFrame.write(frame, 0, random.nextInt(8), kind, milliseconds);
    long at = RequestFrame.HEADER;
    boolean lies = choice < 20;
    if (isLarge) {
      at = describe(peer, random, at, lies);
    }
    if (hasTarget) {
      at = describe(peer, random, at, lies);
    }
    int length = (int) at + (isLarge ? 0 : random.nextInt(100));
    if (choice == 20) {
      length = random.nextInt((int) at);
    } else if (choice == 21) {
      length = 600 + random.nextInt(3000);
    }
    peer.sendFrame(length);
    return choice > 21;
  }

  private static long describe(RequestPeer peer, Random random, long at, boolean lies) {
    long address = peer.memory.start();
    long length = random.nextInt(4096);
    int key = peer.memory.rkey();
    if (lies) {
      switch (random.nextInt(3)) {
        case 0 -> address = ADDRESSES[random.nextInt(ADDRESSES.length)];
        case 1 -> key = random.nextInt();
        default -> length = LENGTHS[random.nextInt(LENGTHS.length)];
      }
    }
    RequestFrame.writeMemory(peer.memory.memory(), at, address, length, key);
    return at + RequestFrame.MEMORY;
  }
}
