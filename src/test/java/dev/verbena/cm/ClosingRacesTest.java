package dev.verbena.cm;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.verbena.VerbsException;
import dev.verbena.raw.rdma_h;
import dev.verbena.soft.SoftNetwork;
import dev.verbena.testing.Await;
import dev.verbena.values.QueuePairCapacity;
import java.net.InetSocketAddress;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.Executors;
import java.util.concurrent.FutureTask;
import java.util.concurrent.ThreadFactory;
import java.util.concurrent.locks.LockSupport;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/**
 * Whoever waits or creates something while a channel or an identifier is closed learns that it is
 * closed, uses no closed descriptor, and leaves nothing.
 */
class ClosingRacesTest {
  private static final int ROUNDS = 1_000;

  /** Each takes some 65 ms: a closed endpoint waits for the thread that polls its channel. */
  private static final int ENDPOINT_ROUNDS = 200;

  /** A platform thread may notice a close some milliseconds later; most rounds failed once. */
  private static final int SLOW_ROUNDS = 100;

  private final FakeRdmacm cm = new FakeRdmacm().withDescriptors();

  @AfterEach
  void close() {
    cm.close();
  }

  /** How far apart the two sides begin, in nanoseconds: all that matters lies within these. */
  private static void delay(int round) {
    LockSupport.parkNanos(round % 50 * 1_000L);
  }

  private static ThreadFactory threads(boolean virtual) {
    return virtual ? Thread.ofVirtual().factory() : Executors.defaultThreadFactory();
  }

  @ParameterizedTest
  @ValueSource(booleans = {false, true})
  void takingAnEventRacesWithClosingTheChannel(boolean virtual) throws Exception {
    for (int round = 0; round < (virtual ? ROUNDS : SLOW_ROUNDS); round++) {
      EventChannel channel = cm.channel();
      FutureTask<Object> taking =
          new FutureTask<>(
              () -> {
                try {
                  return channel.take();
                } catch (IllegalStateException e) {
                  return e.getMessage();
                }
              });
      threads(virtual).newThread(taking).start();
      delay(round);
      channel.close();
      Object outcome = taking.get();
      assertTrue(outcome.toString().endsWith("is closed"), round + ": " + outcome);
    }
  }

  @Test
  void creatingAnIdentifierRacesWithClosingTheChannel() throws Exception {
    for (int round = 0; round < ROUNDS; round++) {
      EventChannel channel = cm.channel();
      FutureTask<Object> creating =
          new FutureTask<>(
              () -> {
                try {
                  return channel.createId(PortSpace.TCP);
                } catch (IllegalStateException e) {
                  return e.getMessage();
                }
              });
      threads(false).newThread(creating).start();
      delay(round);
      channel.close();
      Object outcome = creating.get();
      if (outcome instanceof ConnectionId id) {
        assertEquals(false, id.isOpen());
      } else {
        assertTrue(outcome.toString().endsWith("is closed"), round + ": " + outcome);
      }
    }
    assertEquals(List.of(), cm.misuses);
  }

  /** The completion queues have no owner yet when another thread begins to close. */
  @Test
  void closingAnIdentifierRacesWithCreatingItsQueuePair() throws Exception {
    InetSocketAddress address = new InetSocketAddress("10.77.0.1", 0);
    try (SoftNetwork network = SoftNetwork.create()) {
      var _ = network.addDevice("soft0", address.getAddress());
      try (EventChannel channel = network.call(EventChannel::open)) {
        for (int round = 0; round < ROUNDS / 2; round++) {
          ConnectionId id = channel.createId(PortSpace.TCP);
          id.bind(address);
          CountDownLatch begun = new CountDownLatch(1);
          FutureTask<Object> creating =
              new FutureTask<>(
                  () -> {
                    begun.countDown();
                    try {
                      return id.queues().createQueuePair(QueuePairCapacity.of(1));
                    } catch (IllegalStateException | VerbsException e) {
                      return e; // The identifier was closed before.
                    }
                  });
          threads(false).newThread(creating).start();
          begun.await();
          spin(round);
          id.close();
          Object outcome = creating.get();
          assertEquals(Map.of("event channel", 1), network.openObjects(), round + ": " + outcome);
        }
      }
    }
  }

  /** A shorter delay. */
  private static void spin(int round) {
    for (int i = 0; i < round % 50 * 200; i++) {
      Thread.onSpinWait();
    }
  }

  @Test
  void closingAnIdentifierWaitsForItsResolution() throws Exception {
    EventChannel channel = cm.channel();
    ConnectionId id = channel.createId(PortSpace.TCP);
    List<Long> destroyedMeanwhile = new ArrayList<>();
    Thread closing = new Thread(id::close);
    cm.play(
        "rdma_resolve_addrinfo",
        arguments -> {
          closing.start();
          while (closing.getState() != Thread.State.TIMED_WAITING && closing.isAlive()) {
            Thread.onSpinWait();
          }
          destroyedMeanwhile.addAll(cm.destroyed);
        });
    AddressQuery.of("10.0.0.1", "7471").resolveOn(id);
    closing.join();
    assertEquals(List.of(), destroyedMeanwhile);
    assertEquals(1, cm.destroyed.size());
    assertThrows(
        IllegalStateException.class, () -> AddressQuery.of("10.0.0.1", "7471").resolveOn(id));
    channel.close();
  }

  @Test
  void closingAnEndpointRacesWithItsThread() throws Exception {
    ConcurrentLinkedQueue<Throwable> uncaught = new ConcurrentLinkedQueue<>();
    Thread.UncaughtExceptionHandler before = Thread.getDefaultUncaughtExceptionHandler();
    Thread.setDefaultUncaughtExceptionHandler((thread, e) -> uncaught.add(e));
    try {
      InetSocketAddress peer = new InetSocketAddress("10.0.0.1", 7471);
      for (int round = 0; round < ENDPOINT_ROUNDS; round++) {
        Endpoint endpoint =
            Endpoint.resolve(cm.rdmacm, PortSpace.TCP, null, peer, Await.LIMIT, options -> {});
        cm.calm();
        delay(round);
        if (round % 2 == 0) {
          cm.event(rdma_h.RDMA_CM_EVENT_TIMEWAIT_EXIT(), 0, endpoint.id().segment());
          cm.wake();
        }
        endpoint.close();
      }
    } finally {
      Thread.setDefaultUncaughtExceptionHandler(before);
    }
    assertEquals(List.of(), List.copyOf(uncaught));
    assertEquals(List.of(), cm.misuses);
  }
}
