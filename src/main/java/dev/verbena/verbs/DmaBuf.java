package dev.verbena.verbs;

import dev.verbena.internal.Ranges;
import dev.verbena.internal.io.FileDescriptors;
import dev.verbena.internal.time.ScopedLock;
import java.util.function.IntToLongFunction;

/**
 * A DMA buffer (dma-buf): a file descriptor of memory that devices share.
 *
 * {@snippet :
 * try (DmaBuf buffer = deviceMemory.exportDmaBuf()) {
 *   MemoryRegion region = pd.dmaBuf(buffer, 0, 4096).access(AccessFlag.LOCAL_WRITE).register();
 * }
 * }
 *
 * <p>A buffer ({@index dma-buf}) may be memory of a GPU ({@index GPUDirect} RDMA), whose driver
 * exports it: {@link #of}. The memory stays until its last descriptor and its last region are
 * closed, so a buffer may be closed after it was registered, and after the object that exported it.
 * Several threads may use it. Closing it calls {@code close(2)}.
 */
public final class DmaBuf implements AutoCloseable {
  private static final int CLOSED = -1;

  /** Not a monitor: a registration, which may take long, must not pin a virtual thread. */
  private final ScopedLock lock = new ScopedLock();

  private volatile int descriptor;

  private DmaBuf(int descriptor) {
    this.descriptor = descriptor;
  }

  /**
   * Takes over the file descriptor of a DMA buffer that C code exported, for example the driver of
   * a GPU.
   *
   * @param descriptor an open file descriptor, which {@link #close} closes
   * @return the buffer, to be closed
   */
  public static DmaBuf of(int descriptor) {
    return new DmaBuf(Ranges.notNegative(descriptor, "file descriptor"));
  }

  /**
   * {@return the file descriptor} It remains that of this object: pass it to C code that does not
   * close it.
   *
   * @throws IllegalStateException if the buffer is closed
   */
  public int descriptor() {
    return (int) whileOpen(open -> open);
  }

  /** Calls a function with the descriptor, which is not closed meanwhile. */
  long whileOpen(IntToLongFunction function) {
    try (var _ = lock.hold()) {
      if (descriptor == CLOSED) {
        throw new IllegalStateException("the DMA buffer is closed");
      }
      return function.applyAsLong(descriptor);
    }
  }

  /**
   * Closes the file descriptor: {@code close(2)}. Has no effect if it was closed.
   *
   * @throws dev.verbena.VerbsException EBADF if other code closed the descriptor
   */
  @Override
  public void close() {
    try (var _ = lock.hold()) {
      int open = descriptor;
      descriptor = CLOSED;
      if (open != CLOSED) {
        FileDescriptors.close(open);
      }
    }
  }

  @Override
  public String toString() {
    int open = descriptor;
    return open == CLOSED ? "DMA buffer (closed)" : "DMA buffer " + open;
  }
}
