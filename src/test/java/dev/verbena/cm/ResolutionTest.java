package dev.verbena.cm;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.verbena.Errno;
import dev.verbena.RdmaTimeoutException;
import dev.verbena.VerbsException;
import dev.verbena.testing.Await;
import java.net.InetSocketAddress;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.locks.LockSupport;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** Finding a peer's address, over a played librdmacm. */
class ResolutionTest {
  private static final InetSocketAddress PEER = new InetSocketAddress("10.0.0.1", 7471);

  private final FakeRdmacm cm = new FakeRdmacm();

  @AfterEach
  void close() {
    cm.close();
  }

  private Endpoint resolve(Duration timeout) throws InterruptedException {
    return Endpoint.resolve(cm.rdmacm, PortSpace.TCP, null, PEER, timeout, options -> {});
  }

  @Test
  void resolutionIsRepeatedAfterAMissedReply() throws InterruptedException {
    cm.resolutions.addAll(List.of(-Errno.ETIMEDOUT, -Errno.ETIMEDOUT));
    resolve(Await.LIMIT).close();
    assertEquals(List.of(250, 250, 250), cm.resolutionTimes);
  }

  @Test
  void negativeTimeoutThrows() {
    AddressQuery query = AddressQuery.of("127.0.0.1", "7471");
    Duration mostNegative = Duration.ofSeconds(Long.MIN_VALUE);
    assertThrows(IllegalArgumentException.class, () -> query.resolve(mostNegative));
  }

  @Test
  void otherFailuresAreNotRepeated() {
    cm.resolutions.add(-Errno.ENODEV);
    var failed = assertThrows(ConnectionException.class, () -> resolve(Await.LIMIT));
    assertEquals(EventType.ADDR_ERROR, failed.event().type());
    assertEquals(List.of(250), cm.resolutionTimes);
  }

  @Test
  void timeoutEndsTheResolution() {
    for (int i = 0; i < 10_000; i++) {
      cm.resolutions.add(-Errno.ETIMEDOUT);
    }
    assertThrows(RdmaTimeoutException.class, () -> resolve(Duration.ofMillis(20)));
    assertTrue(cm.resolutionTimes.stream().allMatch(time -> time <= 20));
  }

  /** A JVM that loads its first classes, or a busy machine, has used up a short time by then. */
  @Test
  void timeoutBeforeTheFirstStepThrows() {
    var late = assertThrows(RdmaTimeoutException.class, () -> resolve(Duration.ZERO));
    assertTrue(late.getMessage().contains("rdma_resolve_addr"), late.getMessage());
  }

  /** Returns not before a time has passed: a thread may be unparked for another reason. */
  private static void pass(Duration time) {
    long start = System.nanoTime();
    for (long left = time.toNanos(); left > 0; left = time.toNanos() - System.nanoTime() + start) {
      LockSupport.parkNanos(left);
    }
  }

  @Test
  void timeoutBeforeTheRouteIsResolvedThrows() {
    cm.play("rdma_resolve_addr", arguments -> pass(Duration.ofMillis(30)));
    assertThrows(RdmaTimeoutException.class, () -> resolve(Duration.ofMillis(20)));
  }

  @Test
  void longestDurationIsUnlimited() throws InterruptedException {
    Duration eternity = Duration.ofSeconds(Long.MAX_VALUE);
    resolve(eternity).close();
    assertEquals(List.of(250), cm.resolutionTimes);
    try (EventChannel channel = cm.channel()) {
      ConnectionId id = channel.createId(PortSpace.TCP);
      id.resolveAddress(null, PEER, eternity);
      id.resolveRoute(eternity);
      assertThrows(
          IllegalArgumentException.class, () -> id.resolveAddress(null, PEER, Duration.ZERO));
    }
    assertEquals(List.of(250, Integer.MAX_VALUE), cm.resolutionTimes);
  }

  @ParameterizedTest
  @CsvSource({
    "101, 10.0.0.1, ip route get",
    "113, 10.0.0.1, ip route get",
    "19, 10.0.0.1, the network interface of that address has no RDMA device",
    "19, 127.0.0.1, RDMA devices have no loopback address"
  })
  void failedResolutionHasARemedy(int errno, String peer, String advice) {
    cm.play(
        "rdma_resolve_addr",
        arguments -> {
          throw new VerbsException("rdma_resolve_addr", errno);
        });
    try (EventChannel channel = cm.channel()) {
      ConnectionId id = channel.createId(PortSpace.TCP);
      var failed =
          assertThrows(
              VerbsException.class,
              () ->
                  id.resolveAddress(
                      null, new InetSocketAddress(peer, 7471), Duration.ofSeconds(1)));
      assertTrue(failed.getMessage().contains(advice), failed.getMessage());
      assertTrue(failed.getMessage().contains(peer), failed.getMessage());
    }
  }

  @ParameterizedTest
  @CsvSource({
    "98, another identifier",
    "99, no network interface of this host has that address",
    "19, the network interface of that address has no RDMA device",
    "13, CAP_NET_BIND_SERVICE"
  })
  void failedBindHasARemedy(int errno, String advice) {
    cm.play(
        "rdma_bind_addr",
        arguments -> {
          throw new VerbsException("rdma_bind_addr", errno);
        });
    try (EventChannel channel = cm.channel()) {
      ConnectionId id = channel.createId(PortSpace.TCP);
      var failed = assertThrows(VerbsException.class, () -> id.bind(PEER));
      assertTrue(failed.getMessage().contains(advice), failed.getMessage());
    }
  }
}
