package dev.verbena.s3;

import java.util.EnumMap;
import java.util.Map;
import java.util.concurrent.atomic.LongAdder;

/** The counters of an endpoint. */
final class Counters {
  private final Map<S3Counter, LongAdder> adders = new EnumMap<>(S3Counter.class);

  Counters() {
    for (S3Counter counter : S3Counter.values()) {
      adders.put(counter, new LongAdder());
    }
  }

  void count(S3Counter counter) {
    add(counter, 1);
  }

  void add(S3Counter counter, long count) {
    adders.get(counter).add(count);
  }

  /** Adds all to others. */
  void addTo(Map<S3Counter, Long> sums) {
    adders.forEach((counter, adder) -> sums.merge(counter, adder.sum(), Long::sum));
  }
}
