package dev.verbena.internal.foreign;

import dev.verbena.Errno;
import dev.verbena.VerbsException;
import java.lang.foreign.Arena;
import java.lang.foreign.Linker;
import java.lang.foreign.MemorySegment;
import java.nio.charset.Charset;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;

/** Functions of the C library: waiting on file descriptors, allocation, the environment. */
public final class Libc {
  public static final int EPOLL_CTL_ADD = 1;
  public static final int EPOLL_CTL_DEL = 2;
  public static final int EPOLL_CTL_MOD = 3;

  private static final int EPOLL_CLOEXEC = 0x80000;
  private static final int F_GETFL = 3;
  private static final int F_SETFL = 4;
  private static final int F_DUPFD_CLOEXEC = 1030;
  private static final int O_NONBLOCK = 0x800;
  private static final int O_CLOEXEC = 0x80000;

  /** The encoding of the JDK's own calls with a path. */
  private static final Charset PATH_CHARSET =
      Charset.forName(System.getProperty("sun.jnu.encoding"));

  private static final int SC_PAGESIZE = 30;

  /** A multiple of the page sizes of macOS and Windows, and of most of Linux. */
  private static final int PAGE_ELSEWHERE = 16384;

  private static final boolean IS_PRESENT = Platform.current().unsupportedReason() == null;

  /** The functions that were called. */
  private static final Map<String, MemorySegment> FOUND = new ConcurrentHashMap<>();

  private Libc() {}

  /**
   * Returns whether this is Linux, so that the functions can be called. The software devices of a
   * JVM need none of them.
   */
  public static boolean isPresent() {
    return IS_PRESENT;
  }

  /**
   * Throws unless this is Linux.
   *
   * @param what what needs it
   * @param advice what to use in its place
   * @throws UnsupportedOperationException if it is not
   */
  public static void require(String what, String advice) {
    if (!IS_PRESENT) {
      throw new UnsupportedOperationException(
          what
              + " needs Linux on x86-64 or aarch64; this is "
              + Platform.current()
              + ": "
              + advice);
    }
  }

  /**
   * Returns the address of a function.
   *
   * @throws UnsupportedOperationException if this is not Linux
   */
  public static MemorySegment find(String function) {
    MemorySegment found = FOUND.get(function); // Without a lock.
    return found == null ? FOUND.computeIfAbsent(function, Libc::lookUp) : found;
  }

  /** Returns the address of a function; NULL if this is not Linux, or its C library has none. */
  static MemorySegment findOrNull(String function) {
    return IS_PRESENT
        ? Linker.nativeLinker().defaultLookup().find(function).orElse(MemorySegment.NULL)
        : MemorySegment.NULL;
  }

  private static MemorySegment lookUp(String function) {
    require("the C function " + function, "software devices of one JVM can be used without");
    return Linker.nativeLinker().defaultLookup().find(function).orElseThrow();
  }

  /** Calls poll(2); returns the number of ready descriptors, or -1. */
  public static int poll(long pollfds, long count, int milliseconds) {
    return (int) Call.plain(find("poll"), pollfds, count, milliseconds);
  }

  /** setenv(3): gives a variable of the environment a value unless it has one. */
  public static void setVariable(String name, String value) {
    try (Arena arena = Arena.ofConfined()) {
      long n = arena.allocateFrom(name).address();
      if ((int) Call.plain(find("setenv"), n, arena.allocateFrom(value).address(), 0) != 0) {
        throw new VerbsException("setenv", Errno.ENOMEM);
      }
    }
  }

  /** sysconf(3): the size of a page. */
  public static long pageSize() {
    return IS_PRESENT ? Call.plain(find("sysconf"), SC_PAGESIZE) : PAGE_ELSEWHERE;
  }

  /** malloc(3): memory that C frees. */
  public static long malloc(long bytes) {
    long address = Call.plain(find("malloc"), bytes);
    if (address == 0) {
      throw new VerbsException("malloc", Errno.ENOMEM);
    }
    return address;
  }

  /** Calls epoll_create1(2); returns a new descriptor. */
  public static int epoll_create1() {
    return call("epoll_create1", EPOLL_CLOEXEC);
  }

  /** Calls epoll_ctl(2); returns 0 or the errno. */
  public static int epoll_ctl(int epoll, int operation, int descriptor, long event) {
    try (Arena arena = Arena.ofConfined()) {
      MemorySegment capture = Downcall.capture(arena);
      long result = Downcall.call(find("epoll_ctl"), capture, epoll, operation, descriptor, event);
      return (int) result == 0 ? 0 : Downcall.errno(capture);
    }
  }

  /**
   * Calls epoll_wait(2) with a timeout in milliseconds, -1 for none; returns the number of events,
   * 0 after a signal.
   */
  public static int epoll_wait(int epoll, long events, int capacity, int milliseconds) {
    try (Arena arena = Arena.ofConfined()) {
      MemorySegment capture = Downcall.capture(arena);
      int count =
          (int) Downcall.call(find("epoll_wait"), capture, epoll, events, capacity, milliseconds);
      if (count == -1 && Downcall.errno(capture) != Errno.EINTR) {
        throw new VerbsException("epoll_wait", Downcall.errno(capture));
      }
      return Math.max(count, 0);
    }
  }

  /** Calls fcntl(2) to set {@code O_NONBLOCK}: reads fail with EAGAIN instead of blocking. */
  public static void setNonBlocking(int descriptor) {
    int flags = call("fcntl", descriptor, F_GETFL, 0);
    int _ = call("fcntl", descriptor, F_SETFL, flags | O_NONBLOCK);
  }

  /** Calls fcntl(2) with {@code F_DUPFD_CLOEXEC}; returns a new descriptor of the same file. */
  public static int duplicate(int descriptor) {
    return call("fcntl", descriptor, F_DUPFD_CLOEXEC, 0);
  }

  /** Calls open(2) for reading; returns a new descriptor. A pipe is not waited for. */
  public static int open(String path) {
    try (Arena arena = Arena.ofConfined()) {
      long name = arena.allocateFrom(path, PATH_CHARSET).address();
      return call("open", name, O_NONBLOCK | O_CLOEXEC);
    }
  }

  /** Calls close(2). Linux has freed the descriptor even if it fails, but for EBADF. */
  public static void close(int descriptor) {
    int _ = call("close", descriptor);
  }

  /** Calls close(2), whatever it returns. */
  public static void closeQuietly(int descriptor) {
    long _ = Call.plain(find("close"), descriptor);
  }

  private static int call(String function, long... arguments) {
    try (Arena arena = Arena.ofConfined()) {
      MemorySegment capture = Downcall.capture(arena);
      int result = (int) Downcall.call(find(function), capture, arguments);
      if (result == -1) {
        throw new VerbsException(function, Downcall.errno(capture));
      }
      return result;
    }
  }
}
