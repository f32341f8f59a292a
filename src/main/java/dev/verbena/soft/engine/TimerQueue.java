package dev.verbena.soft.engine;

import java.util.Arrays;

/** The timers that run, ordered by deadline: a binary heap. */
public final class TimerQueue {
  private Timer[] heap = new Timer[16];
  private int size;

  public boolean isEmpty() {
    return size == 0;
  }

  public int size() {
    return size;
  }

  /** The earliest deadline; there must be one. */
  public long earliest() {
    return heap[0].deadline;
  }

  /** Calls the timers whose deadline has come. */
  public void expire(long now) {
    while (size > 0 && heap[0].deadline - now <= 0) {
      Timer timer = heap[0];
      remove(timer);
      timer.expire();
    }
  }

  void add(Timer timer) {
    if (size == heap.length) {
      heap = Arrays.copyOf(heap, 2 * size);
    }
    put(size++, timer);
    up(timer.index);
  }

  void remove(Timer timer) {
    int at = timer.index;
    timer.index = -1;
    Timer last = heap[--size];
    heap[size] = null;
    if (!timer.equals(last)) {
      put(at, last);
      up(at);
      down(last.index);
    }
  }

  private void put(int at, Timer timer) {
    heap[at] = timer;
    timer.index = at;
  }

  private void up(int start) {
    int at = start;
    Timer timer = heap[at];
    while (at > 0 && timer.deadline - heap[(at - 1) / 2].deadline < 0) {
      put(at, heap[(at - 1) / 2]);
      at = (at - 1) / 2;
    }
    put(at, timer);
  }

  private void down(int start) {
    int at = start;
    Timer timer = heap[at];
    while (2 * at + 1 < size) {
      int child = 2 * at + 1;
      if (child + 1 < size && heap[child + 1].deadline - heap[child].deadline < 0) {
        child++;
      }
      if (heap[child].deadline - timer.deadline >= 0) {
        break;
      }
      put(at, heap[child]);
      at = child;
    }
    put(at, timer);
  }
}
