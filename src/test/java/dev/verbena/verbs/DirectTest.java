package dev.verbena.verbs;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.verbena.Errno;
import dev.verbena.VerbsException;
import dev.verbena.testing.DeviceTest;
import dev.verbena.testing.Rig;
import java.lang.foreign.Arena;
import java.lang.foreign.FunctionDescriptor;
import java.lang.foreign.Linker;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.lang.invoke.MethodHandle;
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

  /** The emulated NIC has no registers of that kind, so that only the request to libmlx5 shows. */
  @DeviceTest
  void libmlx5CopiesNoRequestsIntoRegistersThatDirectQueuesShare() throws Throwable {
    Linker linker = Linker.nativeLinker();
    MethodHandle getenv =
        linker.downcallHandle(
            linker.defaultLookup().find("getenv").orElseThrow(),
            FunctionDescriptor.of(ValueLayout.ADDRESS, ValueLayout.ADDRESS));
    try (Arena arena = Arena.ofConfined()) {
      MemorySegment value =
          (MemorySegment) getenv.invokeExact(arena.allocateFrom("MLX5_SHUT_UP_BF"));
      assertEquals("auto".equals(System.getProperty("dev.verbena.direct")), value.address() != 0);
    }
  }
}
