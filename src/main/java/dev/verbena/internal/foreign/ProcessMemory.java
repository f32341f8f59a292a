package dev.verbena.internal.foreign;

import static java.lang.foreign.ValueLayout.JAVA_LONG;

import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;

/**
 * Copies between addresses of this process that may be invalid: the kernel copies ({@code
 * process_vm_readv(2)}) and reports an address that is not mapped, where an ordinary copy would
 * crash the JVM.
 *
 * <p>If the kernel does not permit the call, or is not that of Linux, an ordinary copy replaces it.
 * Not thread-safe.
 */
public final class ProcessMemory {
  private static final MemorySegment READ = Libc.findOrNull("process_vm_readv");
  private static final long PID = ProcessHandle.current().pid();
  private static final boolean CHECKED = READ.address() != 0 && new ProcessMemory(true).works();

  private final boolean checked;

  /** Two {@code struct iovec}: destination and source. */
  private final MemorySegment vectors = Arena.ofAuto().allocate(4L * Long.BYTES, Long.BYTES);

  private final long vectorsAddress = vectors.address();

  /** Creates a copier. */
  public ProcessMemory() {
    this(CHECKED);
  }

  private ProcessMemory(boolean checked) {
    this.checked = checked;
  }

  /** {@return whether a copy from or to memory that is not mapped fails} */
  public boolean isChecked() {
    return checked;
  }

  private boolean works() {
    try (Arena arena = Arena.ofConfined()) {
      MemorySegment from = arena.allocateFrom(JAVA_LONG, 0x5eed);
      MemorySegment to = arena.allocate(JAVA_LONG);
      return copy(from.address(), to.address(), Long.BYTES) && to.get(JAVA_LONG, 0) == 0x5eed;
    }
  }

  /**
   * Copies bytes.
   *
   * @return false if a part of source or destination is not mapped, or the destination is read-only
   */
  public boolean copy(long from, long to, long length) {
    if (length == 0) {
      return true;
    }
    if (!checked) {
      Memory.at(to, length).copyFrom(Memory.at(from, length));
      return true;
    }
    Memory.putLong(vectorsAddress, to);
    Memory.putLong(vectorsAddress + Long.BYTES, length);
    Memory.putLong(vectorsAddress + 2L * Long.BYTES, from);
    Memory.putLong(vectorsAddress + 3L * Long.BYTES, length);
    return Call.plain(READ, PID, vectorsAddress, 1, vectorsAddress + 2L * Long.BYTES, 1, 0)
        == length;
  }
}
