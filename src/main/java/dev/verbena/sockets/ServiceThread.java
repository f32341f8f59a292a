package dev.verbena.sockets;

import dev.verbena.internal.Providers;
import java.net.SocketException;
import java.util.Map;
import java.util.concurrent.Semaphore;

/**
 * A thread of librdmacm that serves rsockets of the process, {@code cm_svc_run}: one accepts for
 * all listening rsockets, one waits for the events of all connections.
 *
 * <p>Releases of rdma-core without the commit "rsockets: Fix for cm_svc_run thread" free the array
 * of descriptors in which that thread waits when a fourth rsocket is added ({@code
 * rs_svc_grow_sets}), and the thread continues to use it. Then {@code rconnect} and {@code raccept}
 * may wait without end for the thread, or the thread may wake the threads in {@code rpoll}
 * repeatedly. With these releases the fourth rsocket is refused.
 */
final class ServiceThread {
  /** The number of rsockets for which the first array has space. */
  private static final int SAFE = 3;

  /** The first release of each stable branch that has the commit; branches from 53 on have it. */
  private static final Map<Integer, Integer> MENDED =
      Map.ofEntries(
          Map.entry(39, 9),
          Map.entry(44, 7),
          Map.entry(46, 5),
          Map.entry(47, 4),
          Map.entry(48, 3),
          Map.entry(49, 3),
          Map.entry(50, 2),
          Map.entry(51, 2),
          Map.entry(52, 1));

  private static final int MENDED_BRANCH = 53;

  /** The thread of listening rsockets. */
  static final ServiceThread LISTENING = new ServiceThread("listening channels");

  /** The thread of connections, also of accepted ones. */
  static final ServiceThread CONNECTED = new ServiceThread("connections");

  /** Decides at the first rsocket: that librdmacm is loaded. */
  private static final class Found {
    static final String RELEASE = Providers.rsocketsRelease().orElse("");
    static final boolean IS_LIMITED = isLimited(RELEASE);
  }

  private final String served;
  private final Semaphore places = new Semaphore(SAFE);

  private ServiceThread(String served) {
    this.served = served;
  }

  /** Counts an rsocket, until {@link #release} when it is closed. */
  void acquire() throws SocketException {
    if (Found.IS_LIMITED && !places.tryAcquire()) {
      throw new SocketException(
          "this process has "
              + SAFE
              + " RDMA "
              + served
              + " already, and one more would make librdmacm of rdma-core "
              + Found.RELEASE
              + " use freed memory: install rdma-core 53 or newer, or the newest release of the"
              + " stable branch");
    }
  }

  /** Counts an rsocket less. */
  void release() {
    if (Found.IS_LIMITED) {
      places.release();
    }
  }

  /** Returns whether a release lacks the commit; one whose number is unknown has it. */
  static boolean isLimited(String release) {
    if (release.isEmpty()) {
      return false;
    }
    int dot = release.indexOf('.');
    int branch = Integer.parseInt(release.substring(0, dot));
    int update = Integer.parseInt(release.substring(dot + 1));
    return branch < MENDED_BRANCH && update < MENDED.getOrDefault(branch, Integer.MAX_VALUE);
  }
}
