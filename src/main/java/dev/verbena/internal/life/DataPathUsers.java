package dev.verbena.internal.life;

import dev.verbena.internal.foreign.ThreadBarrier;
import dev.verbena.internal.time.Time;
import java.lang.ref.WeakReference;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;

/** The users that passed an object to C on the data path at least once. */
final class DataPathUsers {
  private List<WeakReference<DataPathUser>> users = List.of();
  private int sizeBeforePurge = 8;

  synchronized void add(DataPathUser user) {
    if (users.size() == sizeBeforePurge) {
      users.removeIf(reference -> reference.get() == null);
      sizeBeforePurge = Math.max(sizeBeforePurge, 2 * users.size());
    }
    if (users.isEmpty()) {
      users = new ArrayList<>();
    }
    users.add(new WeakReference<>(user));
  }

  private synchronized List<WeakReference<DataPathUser>> copy() {
    return List.copyOf(users);
  }

  /** Waits until no data path call that uses the object is in progress; none begins any more. */
  void awaitEnd(Core closing, Duration limit) {
    List<WeakReference<DataPathUser>> waitedFor = copy();
    if (waitedFor.isEmpty()) {
      return;
    }
    ThreadBarrier.run();
    long start = Time.now();
    for (WeakReference<DataPathUser> reference : waitedFor) {
      DataPathUser user = reference.get();
      if (user != null) {
        user.awaitEnd(closing, start, limit.toNanos());
      }
    }
  }
}
