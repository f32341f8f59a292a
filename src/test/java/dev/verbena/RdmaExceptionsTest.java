package dev.verbena;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.time.Duration;
import java.util.List;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Test;

/** The exceptions of all packages. */
class RdmaExceptionsTest {
  @Test
  void timeoutIsNamed() {
    var late = new RdmaTimeoutException("waiting for it", Duration.ofSeconds(2));
    assertEquals("waiting for it: not completed within 2 s", late.getMessage());
    assertEquals(Duration.ofSeconds(2), late.timeout());
    assertEquals(
        "waiting: not completed within 1500 ms",
        new RdmaTimeoutException("waiting", Duration.ofMillis(1500)).getMessage());
    assertEquals(
        "waiting: not completed within " + Long.MIN_VALUE + " s",
        new RdmaTimeoutException("waiting", Duration.ofSeconds(Long.MIN_VALUE, 5_000_000))
            .getMessage());
    assertTrue(late.isTransient());
  }

  @Test
  void callsThatFailForTheNetworkOrTheDeviceAreTransient() {
    for (int errno :
        List.of(Errno.EAGAIN, Errno.EIO, Errno.ENODEV, Errno.ENETUNREACH, Errno.ETIMEDOUT)) {
      assertTrue(new VerbsException("f", errno).isTransient(), Errno.name(errno));
    }
    for (int errno :
        List.of(Errno.EINVAL, Errno.ENOMEM, Errno.EACCES, Errno.EOPNOTSUPP, Errno.EADDRINUSE)) {
      assertFalse(new VerbsException("f", errno).isTransient(), Errno.name(errno));
    }
  }

  /** A kernel that is older than an object or a method of its ioctl(2) answers EPROTONOSUPPORT. */
  @Test
  void callsThatTheKernelOrTheLibraryDoesNotKnowAreUnsupported() {
    for (String name : List.of("EOPNOTSUPP", "ENOTSUPP", "ENOSYS", "EPROTONOSUPPORT")) {
      int errno =
          IntStream.range(0, 600).filter(n -> Errno.name(n).equals(name)).findFirst().orElseThrow();
      assertTrue(new VerbsException("f", errno).isUnsupported(), name);
    }
    for (int errno : List.of(Errno.EINVAL, Errno.ENOMEM, Errno.ENODATA)) {
      assertFalse(new VerbsException("f", errno).isUnsupported(), Errno.name(errno));
    }
  }
}
