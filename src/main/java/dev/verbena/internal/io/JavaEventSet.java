package dev.verbena.internal.io;

import dev.verbena.internal.foreign.Libc;
import dev.verbena.internal.time.Time;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

/**
 * A set of counters of the JVM, which can be read but not written. Waiting looks at all of them.
 */
final class JavaEventSet extends EventSet {
  /** A file of the set, and the waiter that the set has added to it until it is readable. */
  private final class Member extends Poller.Waiter {
    private final JavaEventFile file;
    private int number;
    private int wanted;
    private boolean isWaiting;

    Member(JavaEventFile file) {
      super(null);
      this.file = file;
    }

    @Override
    void wake() {
      synchronized (JavaEventSet.this) {
        isWaiting = false;
        JavaEventSet.this.notifyAll();
      }
    }
  }

  private final Map<Integer, Member> members = new LinkedHashMap<>();
  private List<Integer> ready = List.of();
  private boolean isWoken;

  @Override
  public synchronized void add(int descriptor, int number, int wanted) {
    if (!JavaEventFile.isOne(descriptor)) {
      Libc.require("a selector of channels of the JDK", "have those of RDMA channels alone");
    }
    members.put(descriptor, new Member(JavaEventFile.of(descriptor)));
    change(descriptor, number, wanted);
  }

  @Override
  public synchronized void change(int descriptor, int number, int wanted) {
    Member member = members.get(descriptor);
    member.number = number;
    member.wanted = wanted;
    notifyAll();
  }

  @Override
  public synchronized void remove(int descriptor) {
    Member member = members.remove(descriptor);
    if (member != null) {
      member.file.remove(member);
    }
  }

  @Override
  public synchronized int await(long nanos) {
    long start = Time.now();
    ready = findReady();
    try {
      for (long left = nanos; ready.isEmpty() && !isWoken && left > 0; ready = findReady()) {
        Time.wait(this, left);
        left = nanos == Long.MAX_VALUE ? nanos : nanos - (Time.now() - start);
      }
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
    }
    isWoken = false;
    return ready.size();
  }

  private List<Integer> findReady() {
    List<Integer> found = new ArrayList<>();
    for (Member member : members.values()) {
      if ((member.wanted & READABLE) != 0) {
        if (!member.isWaiting) {
          member.isWaiting = true;
          member.file.add(member); // Wakes it at once if the file is readable.
        }
        if (!member.isWaiting) {
          found.add(member.number);
        }
      }
    }
    return found;
  }

  @Override
  public synchronized int number(int index) {
    return ready.get(index);
  }

  @Override
  public int events(int index) {
    return READABLE;
  }

  @Override
  public synchronized void wake() {
    isWoken = true;
    notifyAll();
  }

  @Override
  public synchronized void close() {
    List.copyOf(members.keySet()).forEach(this::remove);
  }
}
