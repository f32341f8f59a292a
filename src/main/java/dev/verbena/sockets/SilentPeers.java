package dev.verbena.sockets;

import dev.verbena.internal.time.Time;
import java.net.InetAddress;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.concurrent.TimeUnit;

/**
 * The addresses that were connected by TCP because they did not answer by RDMA: TCP is tried first
 * there, for a second, and four times as long each time that there is no answer again. Only
 * connects of this JVM add addresses; the oldest make room.
 */
final class SilentPeers {
  static final int MAX = 1024;
  static final long FIRST = TimeUnit.SECONDS.toNanos(1);
  static final long LONGEST = TimeUnit.SECONDS.toNanos(64);
  private static final System.Logger LOG = System.getLogger("dev.verbena.sockets");

  private record Silence(long start, long nanos) {
    boolean lasts() {
      return Time.now() - start < nanos;
    }
  }

  private static final Map<InetAddress, Silence> ALL = new LinkedHashMap<>();

  private SilentPeers() {}

  /** Returns whether TCP is to be tried first. */
  static boolean contains(InetAddress address) {
    synchronized (ALL) {
      Silence silence = ALL.get(address);
      return silence != null && silence.lasts();
    }
  }

  /** Adds an address that did not answer within a time; logs it if it is new. */
  static void add(InetAddress address, long limit) {
    synchronized (ALL) {
      Silence before = ALL.get(address);
      if (before != null && before.lasts()) {
        return; // Another connect that was under way has noticed it, too.
      }
      long nanos = before == null ? FIRST : Math.clamp(4 * before.nanos, FIRST, LONGEST);
      ALL.put(address, new Silence(Time.now(), nanos));
      if (before != null) {
        return;
      } else if (ALL.size() > MAX) {
        ALL.remove(ALL.keySet().iterator().next());
      }
    }
    LOG.log(
        System.Logger.Level.INFO,
        "{0} did not answer by RDMA within {1} ms: it is connected by TCP, which is tried first"
            + " there for a while; a rule \"tcp\" for it avoids the attempts",
        address.getHostAddress(),
        TimeUnit.NANOSECONDS.toMillis(limit));
  }

  /** An address has answered. */
  static void answered(InetAddress address) {
    synchronized (ALL) {
      ALL.computeIfPresent(address, (_, _) -> new Silence(Time.now(), 0));
    }
  }
}
