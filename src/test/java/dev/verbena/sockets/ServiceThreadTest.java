package dev.verbena.sockets;

import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import org.junit.jupiter.api.Tag;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** The releases of rdma-core whose service threads use freed memory. */
@Tag("host")
class ServiceThreadTest {
  @ParameterizedTest
  @ValueSource(strings = {"38.0", "39.8", "44.0", "44.6", "45.9", "50.0", "52.0"})
  void releasesBeforeTheCommitAreLimited(String release) {
    assertTrue(ServiceThread.isLimited(release));
  }

  @ParameterizedTest
  @ValueSource(strings = {"39.9", "44.7", "44.10", "50.2", "52.1", "53.0", "56.0", "65.0", ""})
  void releasesWithTheCommitAreNot(String release) {
    assertFalse(ServiceThread.isLimited(release));
  }
}
