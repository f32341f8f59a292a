package dev.verbena.verbs;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.verbena.Errno;
import dev.verbena.VerbsException;
import dev.verbena.testing.DeviceTest;
import dev.verbena.testing.Rig;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;

/** The choice of the direct data path, and its refusals. */
class DirectTest {
  private Context context;
  private ProtectionDomain domain;

  @BeforeEach
  void open() {
    context = Rig.a().open();
    domain = context.allocateProtectionDomain();
  }

  @AfterEach
  void close() {
    context.close();
  }

  private CompletionQueue direct() {
    return context.completionQueue(64).direct().create();
  }

  @DeviceTest
  void isRefusedWithTheReasonWhereTheProviderIsNotLibmlx5() {
    if (System.getenv("VERBENA_NIC") != null && context.directObstacle().isEmpty()) {
      assertTrue(direct().isDirect());
      return;
    }
    String reason = context.directObstacle().orElseThrow();
    CompletionQueue.Builder builder = context.completionQueue(64).direct();
    VerbsException refused = assertThrows(VerbsException.class, builder::create);
    assertEquals(Errno.EOPNOTSUPP, refused.errno());
    assertTrue(reason.contains("libmlx5") || reason.contains("only devices of this host"), reason);
    assertThrows(
        VerbsException.class, () -> SharedReceiveQueue.builder(domain, 8).direct().create());
  }

  @DeviceTest
  void extendedQueueCannotBeDirect() {
    CompletionQueue.Builder builder = context.completionQueue(8).direct();
    assertThrows(IllegalStateException.class, () -> builder.createExtended());
  }
}
