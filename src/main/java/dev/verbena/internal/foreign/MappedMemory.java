package dev.verbena.internal.foreign;

import static java.lang.foreign.ValueLayout.JAVA_LONG;

import dev.verbena.Errno;
import dev.verbena.VerbsException;
import java.io.IOException;
import java.lang.foreign.Arena;
import java.lang.foreign.FunctionDescriptor;
import java.lang.foreign.Linker;
import java.lang.foreign.MemorySegment;
import java.lang.invoke.MethodHandle;
import java.nio.file.DirectoryStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;

/**
 * Anonymous memory of the kernel, {@code mmap(2)}: whole pages of zeros. The JVM does not count it
 * against the limit of direct memory. Without Linux it is memory of the arena, which the JVM
 * counts.
 */
public final class MappedMemory {
  private static final int PROT_READ_WRITE = 3;
  private static final int MAP_PRIVATE_ANONYMOUS = 0x22;
  private static final int MAP_HUGETLB = 0x40000;
  private static final int MAP_HUGE_SHIFT = 26;
  private static final int MADV_POPULATE_WRITE = 23;
  private static final int MPOL_PREFERRED = 1;

  /** The nodes that a mask names; the kernel has at most this many. */
  private static final int NODES = 1024;

  private static final long PAGE = Memory.pageSize();
  private static final Path HUGE_PAGES = Path.of("/sys/kernel/mm/hugepages");

  /** syscall(2) with six arguments, one more than {@link Downcall} has registers for. */
  private static final class SystemCall {
    static final long MBIND = Platform.current().isAarch64() ? 235 : 237;
    static final MethodHandle HANDLE =
        Linker.nativeLinker()
            .downcallHandle(
                FunctionDescriptor.of(
                    JAVA_LONG, JAVA_LONG, JAVA_LONG, JAVA_LONG, JAVA_LONG, JAVA_LONG, JAVA_LONG,
                    JAVA_LONG),
                Linker.Option.captureCallState("errno"));
  }

  private MappedMemory() {}

  /**
   * Maps memory, which is unmapped when the arena is closed.
   *
   * @param size the size in bytes, rounded up to whole pages
   * @param alignment the alignment of its address, a power of two
   * @param hugePage the size of its huge pages; 0 for ordinary pages
   * @return a segment of the size
   * @throws OutOfMemoryError if there is not enough memory
   * @throws VerbsException if there are not enough huge pages, or none of this size
   */
  public static MemorySegment map(long size, long alignment, long hugePage, Arena arena) {
    long page = hugePage == 0 ? PAGE : hugePage;
    long spare = Math.max(0, alignment - page);
    if (size > Long.MAX_VALUE - page - spare) {
      throw new OutOfMemoryError("a memory region of " + size + " bytes");
    }
    long length = Math.ceilDiv(size, page) * page;
    if (hugePage != 0) {
      Libc.require("memory of huge pages", "leave hugePages out");
    } else if (!Libc.isPresent()) {
      return arena.allocate(length, Math.max(alignment, page)).asSlice(0, size);
    }
    long mapped = mmap(length + spare, hugePage);
    long start = Math.ceilDiv(mapped, alignment) * alignment;
    if (start > mapped) {
      munmap(mapped, start - mapped);
    }
    if (mapped + spare > start) {
      munmap(start + length, mapped + spare - start);
    }
    return MemorySegment.ofAddress(start)
        .reinterpret(length, arena, _ -> munmap(start, length))
        .asSlice(0, size);
  }

  private static long mmap(long length, long hugePage) {
    int flags = MAP_PRIVATE_ANONYMOUS;
    if (hugePage != 0) {
      flags |= MAP_HUGETLB | Long.numberOfTrailingZeros(hugePage) << MAP_HUGE_SHIFT;
    }
    try (Arena scratch = Arena.ofConfined()) {
      MemorySegment capture = Downcall.capture(scratch);
      long address =
          Downcall.call(Libc.find("mmap"), capture, 0, length, PROT_READ_WRITE, flags, -1, 0);
      if (address != -1) {
        return address;
      }
      int errno = Downcall.errno(capture);
      if (hugePage != 0) {
        throw new VerbsException("mmap", errno, hugePageAdvice(length, hugePage));
      }
      throw new OutOfMemoryError(
          "mmap of " + length + " bytes: " + Errno.text(errno) + " (" + Errno.name(errno) + ")");
    }
  }

  private static void munmap(long address, long length) {
    try (Arena scratch = Arena.ofConfined()) {
      MemorySegment capture = Downcall.capture(scratch);
      check("munmap", Downcall.call(Libc.find("munmap"), capture, address, length), capture, "");
    }
  }

  /**
   * Places memory on a NUMA node while the node has free memory: {@code mbind(2)} with {@code
   * MPOL_PREFERRED}. Concerns pages that were not touched yet.
   *
   * @throws VerbsException EINVAL if there is no such node, EPERM if a filter forbids the call
   */
  public static void place(MemorySegment memory, int node) {
    Libc.require("memory of a NUMA node", "leave numaNode out");
    try (Arena scratch = Arena.ofConfined()) {
      MemorySegment capture = Downcall.capture(scratch);
      MemorySegment mask = scratch.allocate(NODES / Byte.SIZE, Long.BYTES);
      mask.setAtIndex(JAVA_LONG, node / Long.SIZE, 1L << node % Long.SIZE);
      // The kernel reads one bit less than the number that it is given.
      long result = mbind(capture, memory.address(), memory.byteSize(), mask.address(), NODES + 1L);
      check(
          "mbind",
          result,
          capture,
          "NUMA node "
              + node
              + ": it must exist (/sys/devices/system/node/online) and be allowed to this process"
              + " (Mems_allowed in /proc/self/status); Docker's seccomp profile permits the call"
              + " with CAP_SYS_NICE only");
    }
  }

  private static long mbind(MemorySegment capture, long address, long size, long mask, long bits) {
    MemorySegment syscall = Libc.find("syscall");
    try {
      return (long)
          SystemCall.HANDLE.invokeExact(
              syscall,
              capture,
              SystemCall.MBIND,
              address,
              size,
              (long) MPOL_PREFERRED,
              mask,
              bits,
              0L);
    } catch (Throwable t) {
      throw Call.impossible(t);
    }
  }

  /**
   * Gives memory its pages now: {@code madvise(2)} with {@code MADV_POPULATE_WRITE}. Where a write
   * would end the process with SIGBUS, since its cgroup has no huge page left, the call fails.
   */
  public static void populate(MemorySegment memory, long hugePage) {
    if (!Libc.isPresent()) {
      memory.fill((byte) 0);
      return;
    }
    try (Arena scratch = Arena.ofConfined()) {
      MemorySegment capture = Downcall.capture(scratch);
      long length = Math.ceilDiv(memory.byteSize(), PAGE) * PAGE;
      long result =
          Downcall.call(
              Libc.find("madvise"), capture, memory.address(), length, MADV_POPULATE_WRITE);
      boolean unknown = result != 0 && Downcall.errno(capture) == Errno.EINVAL;
      if (unknown && hugePage == 0) {
        memory.fill((byte) 0); // Linux before 5.14.
      } else if (!unknown) {
        String advice = hugePage == 0 ? "" : hugePageAdvice(memory.byteSize(), hugePage);
        check("madvise", result, capture, advice);
      }
    }
  }

  private static void check(String function, long result, MemorySegment capture, String details) {
    if (result != 0) {
      throw new VerbsException(function, Downcall.errno(capture), details);
    }
  }

  private static String hugePageAdvice(long size, long hugePage) {
    List<String> sizes = new ArrayList<>();
    try (DirectoryStream<Path> found = Files.newDirectoryStream(HUGE_PAGES, "hugepages-*kB")) {
      for (Path path : found) {
        String name = path.getFileName().toString();
        long bytes = Long.parseLong(name.replaceAll("\\D", "")) << 10;
        sizes.add(
            "%s of %s free with %s bytes"
                .formatted(
                    Files.readString(path.resolve("free_hugepages")).strip(),
                    Files.readString(path.resolve("nr_hugepages")).strip(),
                    bytes));
      }
    } catch (IOException e) {
      sizes.add("unknown: " + e.getMessage());
    }
    return Math.ceilDiv(size, hugePage)
        + " huge pages of "
        + hugePage
        + " bytes are needed; this host has "
        + (sizes.isEmpty() ? "none" : String.join(", ", sizes))
        + ". sysctl vm.nr_hugepages=COUNT reserves those of the default size, the kernel's option"
        + " hugepages=COUNT at boot all; in a container its hugetlb limit applies, too";
  }
}
