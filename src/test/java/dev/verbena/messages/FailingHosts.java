package dev.verbena.messages;

import dev.verbena.internal.time.Time;
import dev.verbena.soft.SoftHosts;
import dev.verbena.verbs.Device;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.TimeUnit;
import java.util.function.LongConsumer;

/**
 * Hosts of clients, one of which is killed at each interval, and one whose device is removed at
 * each tenth. Every other time they are back at once, so that packets of their former connections
 * reach them, otherwise after an interval.
 */
final class FailingHosts implements LongConsumer {
  private static final int KILLED = 4;
  private static final String REMOVED = "removed";
  private static final long SECOND = TimeUnit.SECONDS.toNanos(1);

  private final SoftHosts hosts;
  private final int calls;

  /** The interval in calls; 0 for a second. */
  private final int interval;

  /** The numbers of those that are away. */
  private final List<Integer> away = new ArrayList<>();

  private volatile long failedAt = Time.now();
  private int kills;
  private int removals;

  FailingHosts(SoftHosts hosts, int calls, int interval) {
    this.hosts = hosts;
    this.calls = calls;
    this.interval = interval;
    for (int host = 0; host <= KILLED; host++) {
      add(host);
    }
  }

  private void add(int host) {
    Device _ = hosts.network().addDevice(name(host), address(host).getAddress());
  }

  private static String name(int host) {
    return host == KILLED ? REMOVED : "killed" + host;
  }

  private static InetSocketAddress address(int host) {
    return new InetSocketAddress(InetAddress.ofLiteral("192.0.2." + (10 + host)), 0);
  }

  /** Returns the address of each host that is killed. */
  static List<InetSocketAddress> killed() {
    List<InetSocketAddress> all = new ArrayList<>();
    for (int host = 0; host < KILLED; host++) {
      all.add(address(host));
    }
    return all;
  }

  /** Returns the address of the device that is removed. */
  static InetSocketAddress removed() {
    return address(KILLED);
  }

  int kills() {
    return kills;
  }

  int removals() {
    return removals;
  }

  /** Lets a host fail, if the interval is over; those that are away are back at the last call. */
  @Override
  public void accept(long call) {
    if (call >= calls) {
      bringBack();
    } else if (interval > 0 ? call % interval == interval - 1 : isLater()) {
      fail();
    }
  }

  private boolean isLater() {
    return Time.now() - failedAt >= SECOND;
  }

  private synchronized void bringBack() {
    away.forEach(this::add);
    away.clear();
  }

  private synchronized void fail() {
    if (interval == 0 && !isLater()) { // Another thread was faster.
      return;
    }
    failedAt = Time.now();
    bringBack();
    int host = kills % KILLED;
    var _ = hosts.faults().kill(name(host));
    away.add(host);
    kills++;
    if (kills % 10 == 0) {
      hosts.network().removeDevice(REMOVED);
      away.add(KILLED);
      removals++;
    }
    if (kills / KILLED % 2 == 0) {
      bringBack();
    }
  }
}
