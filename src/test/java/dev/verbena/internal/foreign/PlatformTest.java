package dev.verbena.internal.foreign;

import static org.junit.jupiter.api.Assertions.assertDoesNotThrow;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.nio.ByteOrder;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

class PlatformTest {
  @ParameterizedTest
  @CsvSource({"Linux, amd64", "Linux, x86_64", "Linux, aarch64"})
  void supportedPlatformsAreListed(String os, String arch) {
    Platform platform = new Platform(os, arch, 64, ByteOrder.LITTLE_ENDIAN);
    assertNull(platform.unsupportedReason());
    assertDoesNotThrow(platform::requireSupported);
  }

  @ParameterizedTest
  @CsvSource({
    "Windows 11, amd64,   64, true,  'Windows 11 on amd64, 64-bit and little-endian'",
    "Mac OS X,   aarch64, 64, true,  'Mac OS X on aarch64, 64-bit and little-endian'",
    "Linux,      s390x,   64, false, 's390x, 64-bit and big-endian'",
    "Linux,      aarch64, 64, false, 'aarch64, 64-bit and big-endian'",
    "Linux,      riscv64, 64, true,  'riscv64, 64-bit and little-endian'",
    "Linux,      i386,    32, true,  'i386, 32-bit and little-endian'"
  })
  void unsupported(String os, String arch, long bits, boolean little, String found) {
    Platform platform =
        new Platform(os, arch, bits, little ? ByteOrder.LITTLE_ENDIAN : ByteOrder.BIG_ENDIAN);
    var thrown = assertThrows(UnsupportedOperationException.class, platform::requireSupported);
    String start = "Verbena needs Linux on x86-64 or aarch64, 64-bit and little-endian; this is ";
    assertEquals(start, thrown.getMessage().substring(0, start.length()));
    assertTrue(thrown.getMessage().contains(found), thrown.getMessage());
    boolean hasSoftwareDevices = bits == 64 && little;
    assertEquals(hasSoftwareDevices, thrown.getMessage().endsWith("devices of one JVM work"));
    if (hasSoftwareDevices) {
      assertDoesNotThrow(platform::requireLayouts);
    } else {
      assertThrows(UnsupportedOperationException.class, platform::requireLayouts);
    }
  }

  @Test
  void currentPlatformIsThatOfThisJvm() {
    assertEquals(System.getProperty("os.arch"), Platform.current().arch());
  }
}
