package dev.verbena.verbs;

import static dev.verbena.testing.Need.LINUX;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.verbena.Errno;
import dev.verbena.VerbsException;
import dev.verbena.testing.DeviceTest;
import dev.verbena.testing.Needs;
import dev.verbena.testing.Rig;
import dev.verbena.values.AccessFlag;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.stream.Stream;

/** Where memory is that a region owns, and of which pages it consists. */
class MemoryAllocationTest {
  private static final long HUGE = 2 << 20;
  private static final Path HUGE_PAGES = Path.of("/sys/kernel/mm/hugepages");
  private static final Path NODES = Path.of("/sys/devices/system/node");

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
  @Needs(LINUX)
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

  /**
   * Of each size that the kernel has; pages of 1 GiB are free where they were asked for at boot.
   */
  @DeviceTest
  @Needs(LINUX)
  void hugePagesAreUsedOrTheMessageSaysHowManyThereAre() throws IOException {
    try (Context context = Rig.a().open();
        Stream<Path> folders = Files.list(HUGE_PAGES)) {
      ProtectionDomain pd = context.allocateProtectionDomain();
      for (Path folder : folders.toList()) {
        useHugePages(pd, folder.resolve("free_hugepages"), kilobytes(folder) << 10);
      }
      VerbsException unknown =
          assertThrows(VerbsException.class, () -> pd.memory(1).hugePages(8192).allocate());
      assertEquals(Errno.EINVAL, unknown.errno());
      assertThrows(VerbsException.class, pd.memory(1).hugePages(1L << 62)::allocate);
    }
  }

  /** Returns the size of the pages of a folder, such as {@code hugepages-2048kB}. */
  private static long kilobytes(Path folder) {
    return Long.parseLong(folder.getFileName().toString().replaceAll("[^0-9]", ""));
  }

  private static void useHugePages(ProtectionDomain pd, Path freeFile, long size)
      throws IOException {
    long free = number(freeFile);
    long pages = Math.min(2, free);
    if (pages > 0) {
      long length = size * (pages - 1) + 1;
      MemoryRegion region = pd.memory(length).hugePages(size).allocate();
      assertEquals(0, region.memory().address() % size);
      assertEquals(length, region.memory().byteSize());
      List<String> mapping = mapping("/proc/self/smaps", region.memory().address());
      assertTrue(
          mapping.stream()
              .anyMatch(line -> line.matches("KernelPageSize: +" + (size >> 10) + " kB")),
          mapping::toString);
      assertEquals(free - pages, number(freeFile));
      region.close();
      assertEquals(free, number(freeFile));
    }
    VerbsException none =
        assertThrows(
            VerbsException.class, () -> pd.memory(size * (free + 1)).hugePages(size).allocate());
    assertEquals(Errno.ENOMEM, none.errno());
    assertTrue(
        none.getMessage().contains((free + 1) + " huge pages of " + size + " bytes are needed"),
        none::getMessage);
    assertTrue(none.getMessage().contains(free + " of "), none::getMessage);
  }

  private static long number(Path file) throws IOException {
    return Long.parseLong(Files.readString(file).strip());
  }

  @DeviceTest
  @Needs(LINUX)
  void memoryIsOnTheChosenNode() throws IOException {
    try (Context context = Rig.a().open();
        Stream<Path> folders = Files.list(NODES)) {
      ProtectionDomain pd = context.allocateProtectionDomain();
      List<String> nodes =
          folders
              .map(folder -> folder.getFileName().toString())
              .filter(name -> name.matches("node[0-9]+"))
              .map(name -> name.substring("node".length()))
              .toList();
      assertTrue(nodes.contains("0"), nodes::toString);
      for (String node : nodes) {
        MemoryRegion region =
            pd.memory(1 << 20).numaNode(Integer.parseInt(node)).prefault().allocate();
        List<String> mapping = mapping("/proc/self/numa_maps", region.memory().address());
        assertTrue(mapping.getFirst().contains(" prefer:" + node + " "), mapping::toString);
        assertTrue(mapping.getFirst().contains(" N" + node + "=256"), mapping::toString);
      }
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
