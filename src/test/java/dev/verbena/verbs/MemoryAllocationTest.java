package dev.verbena.verbs;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.verbena.Errno;
import dev.verbena.VerbsException;
import dev.verbena.testing.DeviceTest;
import dev.verbena.testing.Rig;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;

/** Where memory is that a region owns, and of which pages it consists. */
class MemoryAllocationTest {
  private static final long HUGE = 2 << 20;
  private static final Path FREE =
      Path.of("/sys/kernel/mm/hugepages/hugepages-2048kB/free_hugepages");

  @DeviceTest
  void memoryIsAlignedZeroedAndOfTheAskedSize() {
    try (Context context = Rig.a().open()) {
      ProtectionDomain pd = context.allocateProtectionDomain();
      for (long alignment : List.of(1L, 64L, 4096L, 1L << 16, 1L << 24)) {
        MemoryRegion region =
            pd.memory(5000).alignment(alignment).access(AccessFlag.LOCAL_WRITE).allocate();
        assertEquals(0, region.memory().address() % Math.max(alignment, 4096));
        assertEquals(5000, region.memory().byteSize());
        assertEquals(-1, region.memory().mismatch(region.memory().asSlice(0).fill((byte) 0)));
        region.memory().fill((byte) 1);
        region.close();
        assertThrows(IllegalStateException.class, region::memory);
      }
    }
  }

  @DeviceTest
  void freedMemoryIsNotMapped() throws IOException {
    try (Context context = Rig.a().open()) {
      MemoryRegion region =
          context.allocateProtectionDomain().memory(1 << 16).alignment(1 << 20).allocate();
      long address = region.memory().address();
      assertFalse(mapping("/proc/self/maps", address).isEmpty());
      region.close();
      assertTrue(mapping("/proc/self/maps", address).isEmpty());
    }
  }

  @DeviceTest
  void hugePagesAreUsedOrTheMessageSaysHowManyThereAre() throws IOException {
    try (Context context = Rig.a().open()) {
      ProtectionDomain pd = context.allocateProtectionDomain();
      long free = Long.parseLong(Files.readString(FREE).strip());
      if (free >= 2) {
        MemoryRegion region = pd.memory(HUGE + 1).hugePages(HUGE).allocate();
        assertEquals(0, region.memory().address() % HUGE);
        assertEquals(HUGE + 1, region.memory().byteSize());
        List<String> mapping = mapping("/proc/self/smaps", region.memory().address());
        assertTrue(
            mapping.stream().anyMatch(line -> line.matches("KernelPageSize: +2048 kB")),
            mapping::toString);
        assertEquals(free - 2, Long.parseLong(Files.readString(FREE).strip()));
        region.close();
        assertEquals(free, Long.parseLong(Files.readString(FREE).strip()));
      }
      VerbsException none =
          assertThrows(
              VerbsException.class, () -> pd.memory(HUGE * (free + 1)).hugePages(HUGE).allocate());
      assertEquals(Errno.ENOMEM, none.errno());
      assertTrue(
          none.getMessage().contains((free + 1) + " huge pages of 2097152 bytes are needed"),
          none::getMessage);
      assertTrue(none.getMessage().contains(free + " of "), none::getMessage);
      VerbsException unknown =
          assertThrows(VerbsException.class, () -> pd.memory(1).hugePages(8192).allocate());
      assertEquals(Errno.EINVAL, unknown.errno());
    }
  }

  @DeviceTest
  void memoryIsOnTheChosenNode() throws IOException {
    try (Context context = Rig.a().open()) {
      ProtectionDomain pd = context.allocateProtectionDomain();
      MemoryRegion region = pd.memory(1 << 20).numaNode(0).prefault().allocate();
      List<String> mapping = mapping("/proc/self/numa_maps", region.memory().address());
      assertTrue(mapping.getFirst().contains(" prefer:0 "), mapping::toString);
      assertTrue(mapping.getFirst().contains(" N0=256"), mapping::toString);
      VerbsException none =
          assertThrows(VerbsException.class, () -> pd.memory(1).numaNode(1023).allocate());
      assertEquals("mbind", none.function());
      assertEquals(Errno.EINVAL, none.errno());
      assertEquals(64, pd.memory(64).nearDevice().allocate().length());
    }
  }

  @DeviceTest
  void wrongValuesAreRefused() {
    try (Context context = Rig.a().open()) {
      ProtectionDomain pd = context.allocateProtectionDomain();
      assertThrows(IllegalArgumentException.class, () -> pd.memory(0));
      for (long wrong : List.of(0L, -1L, 3L, Long.MIN_VALUE + 1)) {
        assertThrows(IllegalArgumentException.class, () -> pd.memory(1).alignment(wrong));
        assertThrows(IllegalArgumentException.class, () -> pd.memory(1).hugePages(wrong));
      }
      assertThrows(IllegalArgumentException.class, () -> pd.memory(1).numaNode(-1));
      assertThrows(IllegalArgumentException.class, () -> pd.memory(1).numaNode(1024));
      MemoryAllocation contradiction = pd.memory(1).hugePages(HUGE).alignment(HUGE * 2);
      assertThrows(IllegalArgumentException.class, contradiction::allocate);
      MemoryAllocation flags = pd.memory(1).access(AccessFlag.REMOTE_WRITE);
      assertThrows(IllegalArgumentException.class, flags::allocate);
      for (long size : List.of(Long.MAX_VALUE, Long.MAX_VALUE - 4096, 1L << 60)) {
        assertThrows(OutOfMemoryError.class, pd.memory(size)::allocate);
        assertThrows(OutOfMemoryError.class, pd.memory(size).alignment(1L << 62)::allocate);
      }
      assertThrows(
          VerbsException.class, pd.memory(1).hugePages(1L << 62)::allocate, "of another size");
      MemoryAllocation late = pd.memory(1);
      pd.close();
      assertThrows(IllegalStateException.class, late::allocate);
    }
  }

  /** Returns the lines about the mapping that contains an address. */
  private static List<String> mapping(String file, long address) throws IOException {
    List<String> lines = Files.readAllLines(Path.of(file));
    for (int i = 0; i < lines.size(); i++) {
      String[] head = lines.get(i).split("[- ]", 3);
      boolean found =
          head[0].matches("[0-9a-f]+")
              && Long.parseUnsignedLong(head[0], 16) <= address
              && (file.endsWith("numa_maps")
                  ? Long.parseUnsignedLong(head[0], 16) == address
                  : Long.parseUnsignedLong(head[1], 16) > address);
      if (found) {
        return lines.subList(i, Math.min(lines.size(), i + 24));
      }
    }
    return List.of();
  }
}
