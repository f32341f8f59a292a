package dev.verbena.internal;

import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import java.util.WeakHashMap;

/**
 * The counters of all connections over a device, those that have ended among them. Only their sum
 * is shown, so that the number of counters does not depend on that of the connections.
 */
public final class MessageCounters {
  private static final Map<Provider, Map<String, MessageCounters>> ALL = new WeakHashMap<>();

  // Guarded by this.

  /** What is not counted by a connection that is open. */
  private final Tally rest = new Tally();

  private final Set<Tally> open = new HashSet<>();

  private MessageCounters() {}

  /** Returns the counters of a device. */
  public static MessageCounters of(Provider provider, String device) {
    synchronized (ALL) {
      return ALL.computeIfAbsent(provider, _ -> new HashMap<>())
          .computeIfAbsent(device, _ -> new MessageCounters());
    }
  }

  /** Returns the values of a device by the names of the counters; empty before its first use. */
  public static Map<String, Long> values(Provider provider, String device) {
    MessageCounters counters;
    synchronized (ALL) {
      counters = ALL.getOrDefault(provider, Map.of()).get(device);
    }
    return counters == null ? Map.of() : counters.values();
  }

  /** Counts what no connection does. */
  public synchronized void count(MessageCounter counter) {
    rest.add(counter, 1);
  }

  /** Counts a connection, whose tallies belong to the sum from now on. */
  public synchronized void opened(MessageCounter counter, Tally... ofConnection) {
    open.addAll(List.of(ofConnection));
    rest.add(counter, 1);
  }

  /** Counts the end of a connection, which may be reported several times. */
  public synchronized void closed(MessageCounter counter, Tally... ofConnection) {
    boolean wasOpen = false;
    for (Tally tally : ofConnection) {
      if (open.remove(tally)) {
        wasOpen = true;
        for (MessageCounter each : MessageCounter.values()) {
          rest.add(each, tally.get(each));
        }
      }
    }
    if (wasOpen) {
      rest.add(counter, 1);
    }
  }

  private synchronized Map<String, Long> values() {
    Map<String, Long> values = new TreeMap<>();
    for (MessageCounter each : MessageCounter.values()) {
      long sum = rest.get(each);
      for (Tally tally : open) {
        sum += tally.get(each);
      }
      values.put(each.name().toLowerCase(Locale.ROOT), sum);
    }
    return values;
  }
}
