package dev.verbena.internal;

import static java.lang.foreign.ValueLayout.JAVA_INT;
import static java.lang.foreign.ValueLayout.JAVA_LONG;

import dev.verbena.Errno;
import dev.verbena.VerbsException;
import java.lang.foreign.Arena;
import java.lang.foreign.FunctionDescriptor;
import java.lang.foreign.Linker;
import java.lang.foreign.MemoryLayout;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.StructLayout;
import java.lang.invoke.MethodHandle;
import java.lang.invoke.VarHandle;

/** The few functions of the C library that waiting on file descriptors and allocating take. */
final class Libc {
  static final int EPOLL_CTL_ADD = 1;
  static final int EPOLL_CTL_DEL = 2;
  static final int EPOLL_CTL_MOD = 3;

  private static final int EPOLL_CLOEXEC = 0x80000;
  private static final int F_GETFL = 3;
  private static final int F_SETFL = 4;
  private static final int O_NONBLOCK = 0x800;

  private static final Linker LINKER = Linker.nativeLinker();
  private static final StructLayout CAPTURE = Linker.Option.captureStateLayout();
  private static final VarHandle ERRNO =
      CAPTURE.varHandle(MemoryLayout.PathElement.groupElement("errno"));

  private static final MethodHandle POLL = handle("poll", JAVA_LONG, JAVA_LONG, JAVA_INT);
  private static final MethodHandle EPOLL_CREATE1 = handle("epoll_create1", JAVA_INT);
  private static final MethodHandle EPOLL_CTL =
      handle("epoll_ctl", JAVA_INT, JAVA_INT, JAVA_INT, JAVA_LONG);
  private static final MethodHandle EPOLL_WAIT =
      handle("epoll_wait", JAVA_INT, JAVA_LONG, JAVA_INT, JAVA_INT);
  private static final MethodHandle FCNTL =
      LINKER.downcallHandle(
          LINKER.defaultLookup().find("fcntl").orElseThrow(),
          FunctionDescriptor.of(JAVA_INT, JAVA_INT, JAVA_INT, JAVA_INT),
          Linker.Option.captureCallState("errno"),
          Linker.Option.firstVariadicArg(2));

  private Libc() {}

  private static MethodHandle handle(String function, MemoryLayout... parameters) {
    // poll is called often, and its errno tells nothing: whoever waits looks again.
    Linker.Option[] options =
        function.equals("poll") || function.equals("getpagesize")
            ? new Linker.Option[0]
            : new Linker.Option[] {Linker.Option.captureCallState("errno")};
    return LINKER.downcallHandle(
        LINKER.defaultLookup().find(function).orElseThrow(),
        FunctionDescriptor.of(JAVA_INT, parameters),
        options);
  }

  /** poll(2): how many of the descriptors have something to tell, or -1. */
  static int poll(long pollfds, long count, int milliseconds) {
    try {
      return (int) POLL.invokeExact(pollfds, count, milliseconds);
    } catch (Throwable t) {
      throw new AssertionError(t);
    }
  }

  /** getpagesize(3). */
  static int getpagesize() {
    try {
      return (int) handle("getpagesize").invokeExact();
    } catch (Throwable t) {
      throw new AssertionError(t);
    }
  }

  /** epoll_create1(2): a new descriptor. */
  static int epoll_create1() {
    try (Arena arena = Arena.ofConfined()) {
      MemorySegment capture = arena.allocate(CAPTURE);
      int epoll = (int) EPOLL_CREATE1.invokeExact(capture, EPOLL_CLOEXEC);
      return checked("epoll_create1", epoll, capture);
    } catch (RuntimeException e) {
      throw e;
    } catch (Throwable t) {
      throw new AssertionError(t);
    }
  }

  /** epoll_ctl(2): 0, or the errno. */
  static int epoll_ctl(int epoll, int operation, int descriptor, long event) {
    try (Arena arena = Arena.ofConfined()) {
      MemorySegment capture = arena.allocate(CAPTURE);
      int result = (int) EPOLL_CTL.invokeExact(capture, epoll, operation, descriptor, event);
      return result == 0 ? 0 : (int) ERRNO.get(capture, 0L);
    } catch (Throwable t) {
      throw new AssertionError(t);
    }
  }

  /** epoll_wait(2) for as long as it takes: the number of events; 0 after a signal. */
  static int epoll_wait(int epoll, long events, int capacity) {
    try (Arena arena = Arena.ofConfined()) {
      MemorySegment capture = arena.allocate(CAPTURE);
      int count = (int) EPOLL_WAIT.invokeExact(capture, epoll, events, capacity, -1);
      boolean interrupted = count == -1 && (int) ERRNO.get(capture, 0L) == Errno.EINTR;
      return interrupted ? 0 : checked("epoll_wait", count, capture);
    } catch (RuntimeException e) {
      throw e;
    } catch (Throwable t) {
      throw new AssertionError(t);
    }
  }

  /** fcntl(2): makes reading fail with EAGAIN where it would block. */
  static void setNonBlocking(int descriptor) {
    try (Arena arena = Arena.ofConfined()) {
      MemorySegment capture = arena.allocate(CAPTURE);
      int flags = (int) FCNTL.invokeExact(capture, descriptor, F_GETFL, 0);
      checked("fcntl", flags, capture);
      int result = (int) FCNTL.invokeExact(capture, descriptor, F_SETFL, flags | O_NONBLOCK);
      checked("fcntl", result, capture);
    } catch (RuntimeException e) {
      throw e;
    } catch (Throwable t) {
      throw new AssertionError(t);
    }
  }

  private static int checked(String function, int result, MemorySegment capture) {
    if (result == -1) {
      throw new VerbsException(function, (int) ERRNO.get(capture, 0L));
    }
    return result;
  }
}
