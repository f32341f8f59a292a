package dev.verbena.fuzz;

import java.util.Comparator;
import java.util.List;
import java.util.Queue;
import java.util.Random;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicLong;

/** What the threads of one round share. */
final class Round {
  final long seed;
  final Target target;
  final Surface surface;
  final Journal journal;
  final Findings findings;
  final ArgumentMemory memory = new ArgumentMemory();
  final Pool pool = new Pool();
  final Harvest harvest = new Harvest();

  /** Whether threads share what is documented to be used by one thread at a time. */
  final boolean sharesLists;

  /** How many calls are left to be made. */
  private final AtomicLong left;

  /** To be closed at the end. */
  private final Queue<AutoCloseable> late = new ConcurrentLinkedQueue<>();

  private final AtomicBoolean over = new AtomicBoolean();

  Round(long seed, Target target, Surface surface, Journal journal, Findings findings, long calls) {
    this.seed = seed;
    this.target = target;
    this.surface = surface;
    this.journal = journal;
    this.findings = findings;
    this.left = new AtomicLong(calls);
    this.sharesLists = (seed & 1) != 0;
    target.objects().forEach(object -> pool.add(object, new Random(seed)));
  }

  /** Keeps what a thread made that is none of the workers. */
  void keepOfHelper(AutoCloseable made) {
    Object leaving = pool.add(made, new Random(seed));
    if (leaving instanceof AutoCloseable closeable) {
      closeLater(closeable);
    }
  }

  /** Closes an object that left the pool at the end of the round. */
  void closeLater(AutoCloseable object) {
    late.add(object);
  }

  void end() {
    over.set(true);
  }

  boolean isOver() {
    return over.get();
  }

  /** Counts one more step; false if there is none left. */
  boolean next() {
    return !over.get() && left.getAndDecrement() > 0;
  }

  /** Closes everything; what cannot be closed although no thread uses anything is a defect. */
  void closeAll(List<Worker> workers) {
    List<AutoCloseable> all = pool.drain();
    all.addAll(late);
    workers.forEach(worker -> all.addAll(worker.own().drain()));
    List<AutoCloseable> inOrder =
        all.reversed().stream().sorted(Comparator.comparing(Pool::isNetwork)).toList();
    for (AutoCloseable object : inOrder) {
      try {
        object.close();
      } catch (Exception | Error e) {
        findings.add(
            "not closed at the end: " + Surface.name(object.getClass()) + ": " + e.getMessage(),
            "seed " + seed + ", " + object,
            e);
      }
    }
    memory.close();
  }
}
