package dev.verbena.testing;

import static java.lang.foreign.ValueLayout.ADDRESS;
import static java.lang.foreign.ValueLayout.JAVA_INT;
import static java.lang.foreign.ValueLayout.JAVA_LONG;

import java.lang.foreign.Arena;
import java.lang.foreign.FunctionDescriptor;
import java.lang.foreign.Linker;
import java.lang.foreign.MemoryLayout;
import java.lang.foreign.MemorySegment;
import java.lang.invoke.MethodHandle;
import java.lang.invoke.VarHandle;

/** A pipe(2): a file descriptor that becomes readable when a test says so. */
public final class Pipe implements AutoCloseable {
  private static final Linker LINKER = Linker.nativeLinker();
  private static final MemoryLayout CAPTURE = Linker.Option.captureStateLayout();
  private static final VarHandle ERRNO =
      CAPTURE.varHandle(MemoryLayout.PathElement.groupElement("errno"));
  private static final MethodHandle PIPE = handle("pipe", JAVA_INT, ADDRESS);
  private static final MethodHandle READ = handle("read", JAVA_LONG, JAVA_INT, ADDRESS, JAVA_LONG);
  private static final MethodHandle WRITE =
      handle("write", JAVA_LONG, JAVA_INT, ADDRESS, JAVA_LONG);
  private static final MethodHandle CLOSE = handle("close", JAVA_INT, JAVA_INT);

  private final int readEnd;
  private final int writeEnd;
  private boolean closed;

  /** Opens a pipe. */
  public Pipe() {
    try (Arena arena = Arena.ofConfined()) {
      MemorySegment ends = arena.allocate(2L * Integer.BYTES, Integer.BYTES);
      checked((int) PIPE.invokeExact(arena.allocate(CAPTURE), ends), "pipe");
      readEnd = ends.getAtIndex(JAVA_INT, 0);
      writeEnd = ends.getAtIndex(JAVA_INT, 1);
    } catch (RuntimeException e) {
      throw e;
    } catch (Throwable t) {
      throw new AssertionError(t);
    }
  }

  private static MethodHandle handle(
      String function, MemoryLayout result, MemoryLayout... parameters) {
    return LINKER.downcallHandle(
        LINKER.defaultLookup().find(function).orElseThrow(),
        FunctionDescriptor.of(result, parameters),
        Linker.Option.captureCallState("errno"));
  }

  private static void checked(long result, String function) {
    if (result == -1) {
      throw new IllegalStateException(function);
    }
  }

  /** The descriptor that becomes readable. */
  public int readEnd() {
    return readEnd;
  }

  /** Writes all bytes of a segment. */
  public void write(MemorySegment bytes) {
    try (Arena arena = Arena.ofConfined()) {
      MemorySegment capture = arena.allocate(CAPTURE);
      long written = (long) WRITE.invokeExact(capture, writeEnd, bytes, bytes.byteSize());
      if (written != bytes.byteSize()) {
        throw new IllegalStateException("wrote " + written + " of " + bytes.byteSize());
      }
    } catch (RuntimeException e) {
      throw e;
    } catch (Throwable t) {
      throw new AssertionError(t);
    }
  }

  /** Writes one number. */
  public void write(long number) {
    try (Arena arena = Arena.ofConfined()) {
      write(arena.allocateFrom(JAVA_LONG, number));
    }
  }

  /** Reads into a segment, like read(2): the number of bytes, or an errno with its sign turned. */
  public long read(MemorySegment bytes) {
    try (Arena arena = Arena.ofConfined()) {
      MemorySegment capture = arena.allocate(CAPTURE);
      long count = (long) READ.invokeExact(capture, readEnd, bytes, bytes.byteSize());
      return count == -1 ? -(int) ERRNO.get(capture, 0L) : count;
    } catch (Throwable t) {
      throw new AssertionError(t);
    }
  }

  /** Reads one number. */
  public long read() {
    try (Arena arena = Arena.ofConfined()) {
      MemorySegment number = arena.allocate(JAVA_LONG);
      checked(read(number) == Long.BYTES ? 0 : -1, "read");
      return number.get(JAVA_LONG, 0);
    }
  }

  @Override
  public void close() {
    if (!closed) {
      closed = true;
      try (Arena arena = Arena.ofConfined()) {
        MemorySegment capture = arena.allocate(CAPTURE);
        checked((int) CLOSE.invokeExact(capture, readEnd), "close");
        checked((int) CLOSE.invokeExact(capture, writeEnd), "close");
      } catch (RuntimeException e) {
        throw e;
      } catch (Throwable t) {
        throw new AssertionError(t);
      }
    }
  }
}
