package dev.verbena.cm;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.verbena.Errno;
import java.net.InetSocketAddress;
import java.time.Duration;
import java.util.List;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;

/** Finding a peer's address, over a played librdmacm. */
class ResolutionTest {
  private static final InetSocketAddress PEER = new InetSocketAddress("10.0.0.1", 7471);

  private final PlayedCm cm = new PlayedCm();

  @AfterEach
  void close() {
    cm.close();
  }

  private Endpoint resolve(Duration timeout) throws InterruptedException {
    return Endpoint.resolve(cm.channel(), PortSpace.TCP, null, PEER, timeout);
  }

  @Test
  void anAnswerThatTheKernelMissedIsAskedForAgain() throws InterruptedException {
    cm.resolutions.addAll(List.of(-Errno.ETIMEDOUT, -Errno.ETIMEDOUT));
    resolve(Duration.ofMinutes(1)).close();
    assertEquals(List.of(250, 250, 250), cm.resolutionTimes);
  }

  @Test
  void anotherFailureEndsIt() {
    cm.resolutions.add(-Errno.ENODEV);
    var failed = assertThrows(ConnectionException.class, () -> resolve(Duration.ofMinutes(1)));
    assertEquals(EventType.ADDRESS_ERROR, failed.event().type());
    assertEquals(List.of(250), cm.resolutionTimes);
  }

  @Test
  void theEndOfTheTimeEndsIt() {
    for (int i = 0; i < 10_000; i++) {
      cm.resolutions.add(-Errno.ETIMEDOUT);
    }
    assertThrows(RuntimeException.class, () -> resolve(Duration.ofMillis(20)));
    assertTrue(cm.resolutionTimes.stream().allMatch(time -> time <= 20));
  }
}
