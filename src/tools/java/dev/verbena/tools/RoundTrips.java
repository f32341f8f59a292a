package dev.verbena.tools;

import dev.verbena.tools.command.Link;
import dev.verbena.verbs.ReceiveList;
import dev.verbena.verbs.SendList;
import org.HdrHistogram.Histogram;

/** Measures round trips of messages between two ends in one thread. */
final class RoundTrips {
  private static final int WARM_UP = 200;

  private final Link here;
  private final Link there;
  private final SendList ping = new SendList(1, 1);
  private final SendList pong = new SendList(1, 1);
  private final ReceiveList receiveHere = new ReceiveList(1, 1);
  private final ReceiveList receiveThere = new ReceiveList(1, 1);

  RoundTrips(Link here, Link there, int size) {
    this.here = here;
    this.there = there;
    ping.send(0).local(here.region(), 0, size).signaled();
    pong.send(0).local(there.region(), 0, size).signaled();
    receiveHere.local(0, here.region(), size, size);
    receiveThere.local(0, there.region(), size, size);
  }

  /** Returns the times in nanoseconds. */
  Histogram measure(int iterations) {
    Histogram times = new Histogram(3);
    for (int i = -WARM_UP; i < iterations; i++) {
      here.post(receiveHere);
      there.post(receiveThere);
      long start = System.nanoTime();
      here.post(ping);
      there.await(1);
      there.post(pong);
      here.await(2);
      long nanos = System.nanoTime() - start;
      there.await(1);
      if (i >= 0) {
        times.recordValue(nanos);
      }
    }
    return times;
  }
}
