package dev.verbena.internal;

import static dev.verbena.internal.ErrorConvention.ERRNO;
import static dev.verbena.internal.ErrorConvention.NEVER;
import static dev.verbena.testing.DeviceKind.MLX5;
import static dev.verbena.testing.DeviceKind.SOFT_ROCE;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.verbena.Errno;
import dev.verbena.VerbsException;
import dev.verbena.internal.foreign.Memory;
import dev.verbena.raw.ibv_context;
import dev.verbena.testing.DeviceTest;
import dev.verbena.testing.On;
import dev.verbena.testing.Rig;
import dev.verbena.verbs.Context;
import java.lang.foreign.Arena;
import org.junit.jupiter.api.Test;

/** A further C library, such as that of a provider, needs one interface. */
class ProviderLibrariesTest {
  @SharedLibrary(
      soname = "libmlx5.so.1",
      packages = "ibverbs-providers",
      anchor = "mlx5dv_is_supported")
  interface Libmlx5 {
    @Symbol(fails = NEVER)
    boolean mlx5dv_is_supported(long device);
  }

  @SharedLibrary(
      soname = "libefa.so.1",
      packages = "ibverbs-providers",
      anchor = "efadv_query_device")
  interface Libefa {
    @Symbol(fails = ERRNO)
    void efadv_query_device(long context, long attr, int inlen);
  }

  @SharedLibrary(
      soname = "libmissing.so.1",
      packages = "missing-providers",
      anchor = "missingdv_is_supported")
  interface Libmissing {
    @Symbol(fails = NEVER)
    boolean missingdv_is_supported(long device);
  }

  @DeviceTest
  @On(SOFT_ROCE)
  void softRoceIsNoDeviceOfMlx5() {
    try (Context context = Rig.a().open()) {
      var struct = Memory.at(context.segment().address(), ibv_context.sizeof());
      long device = ibv_context.device(struct).address();
      assertFalse(NativeProvider.INSTANCE.bind(Libmlx5.class).mlx5dv_is_supported(device));
    }
  }

  @DeviceTest
  @On(
      value = {SOFT_ROCE, MLX5},
      reason = "is about a library of C")
  void efaDoesNotSupportADeviceOfAnotherProvider() {
    try (Context context = Rig.a().open();
        Arena arena = Arena.ofConfined()) {
      long attributes = arena.allocate(256, 8).address();
      VerbsException e =
          assertThrows(
              VerbsException.class,
              () ->
                  NativeProvider.INSTANCE
                      .bind(Libefa.class)
                      .efadv_query_device(context.segment().address(), attributes, 256));
      assertEquals("efadv_query_device", e.function());
      assertEquals(Errno.EOPNOTSUPP, e.errno());
    }
  }

  @Test
  void aLibraryThatIsNotInstalledIsNamedWithItsPackages() {
    VerbsException e =
        assertThrows(VerbsException.class, () -> NativeProvider.INSTANCE.bind(Libmissing.class));
    assertEquals(Errno.ENOENT, e.errno());
    assertTrue(e.getMessage().contains("libmissing.so.1"), e.getMessage());
    assertTrue(e.getMessage().contains("Debian: missing-providers"), e.getMessage());
    assertTrue(e.getMessage().contains("-Ddev.verbena.libmissing=PATH"), e.getMessage());
  }
}
