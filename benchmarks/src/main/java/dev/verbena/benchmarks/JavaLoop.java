package dev.verbena.benchmarks;

import static dev.verbena.benchmarks.Queues.SIZE;
import static dev.verbena.benchmarks.Queues.all;

import dev.verbena.benchmarks.DataPath.Choice;
import dev.verbena.verbs.CompletionCursor;
import dev.verbena.verbs.CompletionQueue;
import dev.verbena.verbs.Completions;
import dev.verbena.verbs.MemoryRegion;
import dev.verbena.verbs.Posting;
import dev.verbena.verbs.QueuePair;
import dev.verbena.verbs.QueuePairSession;
import dev.verbena.verbs.ReceiveList;
import dev.verbena.verbs.SendList;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;

/** The loops in Java. Each way to post has a loop of its own, as a program has. */
final class JavaLoop implements MeasuredLoop {
  private final Choice choice;
  private final Queues queues;
  private final int batch;
  private final int rounds;
  private final int copied;
  private final int sges;
  private final int polled;
  private final int calls;
  private final CompletionQueue queue;
  private final QueuePair pair;
  private final MemoryRegion region;
  private final SendList sends;
  private final ReceiveList receives;
  private final Completions completions;

  /** Null if the requests are not posted by a session. */
  private final QueuePairSession session;

  private final MemorySegment source;
  private final MemorySegment[] inline;
  private long id;

  JavaLoop(Choice choice, Queues queues) {
    this.choice = choice;
    this.queues = queues;
    batch = choice.batch;
    rounds = REQUESTS / batch;
    copied = choice.size;
    sges = choice.sges;
    polled = choice.polled();
    calls = Math.ceilDiv(REQUESTS / choice.interval, polled);
    queue = queues.queue;
    pair = queues.pairs[0];
    region = queues.region;
    completions = new Completions(polled);
    session = choice.by.equals("session") ? session() : null;
    source = Arena.ofAuto().allocate(copied, 64);
    sends = new SendList(batch, choice.sges, choice.isInline() ? copied : 0);
    inline = new MemorySegment[choice.isInline() ? batch : 0];
    receives = new ReceiveList(batch, 1);
    for (int i = 0; i < batch; i++) {
      var request = queues.request(sends, i);
      if (choice.isInline()) {
        request.inline(copied);
        inline[i] = sends.inlineData(i);
      }
      for (int sge = 0; sge < choice.sges && !choice.isInline(); sge++) {
        sends.local(i, sge, region, 0, SIZE);
      }
      if ((i + 1) % choice.interval == 0) {
        sends.signaled(i);
      }
      receives.local(i, region, 0, SIZE);
    }
  }

  private QueuePairSession session() {
    QueuePairSession result = QueuePairSession.on(pair, queue, batch);
    for (int i = 0; i < batch; i++) {
      if (choice.isWrite()) {
        result.write(i, queues.peerRegion.start(), queues.peerRegion.rkey());
      } else {
        result.send(i);
      }
      result.signaled(i, (i + 1) % choice.interval == 0);
    }
    return result;
  }

  private long offset() {
    return (id & (Queues.SLOTS - 1)) * SIZE;
  }

  @Override
  public void post() {
    if (choice.by.equals("posting")) {
      postByPosting();
    } else if (session != null) {
      postBySession();
    } else if (choice.pairs > 1) {
      postInTurns();
    } else if (choice.sges > 1) {
      postSges();
    } else {
      switch (choice.data) {
        case "region" -> postRegion();
        case "inline" -> postInline();
        case "copied" -> postCopied();
        case "copied-inline" -> postCopiedInline();
        default -> throw new IllegalArgumentException("data=" + choice.data);
      }
    }
  }

  private void patch() {
    for (int i = 0; i < batch; i++) {
      sends.id(i, id++);
      sends.local(i, region, offset(), SIZE);
    }
  }

  private void postRegion() {
    for (int round = 0; round < rounds; round++) {
      patch();
      all(pair.post(sends), batch);
    }
  }

  private void postBySession() {
    for (int round = 0; round < rounds; round++) {
      for (int i = 0; i < batch; i++) {
        session.local(i, id++, region, offset(), SIZE);
      }
      all(session.post(0, batch), batch);
    }
  }

  private void postInTurns() {
    for (int round = 0; round < rounds; round++) {
      patch();
      all(queues.pairs[round % queues.pairs.length].post(sends), batch);
    }
  }

  private void postSges() {
    for (int round = 0; round < rounds; round++) {
      for (int i = 0; i < batch; i++) {
        sends.id(i, id++);
        for (int sge = 0; sge < sges; sge++) {
          sends.local(i, sge, region, offset(), SIZE);
        }
      }
      all(pair.post(sends), batch);
    }
  }

  private void postInline() {
    for (int round = 0; round < rounds; round++) {
      for (int i = 0; i < batch; i++) {
        sends.id(i, id++);
        inline[i].set(ValueLayout.JAVA_LONG, 0, id);
      }
      all(pair.post(sends), batch);
    }
  }

  private void postCopied() {
    for (int round = 0; round < rounds; round++) {
      for (int i = 0; i < batch; i++) {
        sends.id(i, id++);
        long offset = (id & (Queues.SLOTS - 1)) * copied;
        MemorySegment.copy(source, 0, region.memory(), offset, copied);
        sends.local(i, region, offset, copied);
      }
      all(pair.post(sends), batch);
    }
  }

  private void postCopiedInline() {
    for (int round = 0; round < rounds; round++) {
      for (int i = 0; i < batch; i++) {
        sends.id(i, id++);
        MemorySegment.copy(source, 0, inline[i], 0, copied);
      }
      all(pair.post(sends), batch);
    }
  }

  private void postByPosting() {
    long remote = queues.peerRegion.start();
    int rkey = queues.peerRegion.rkey();
    for (int round = 0; round < rounds; round++) {
      try (Posting posting = pair.startPosting()) {
        for (int i = 0; i < batch; i++) {
          (choice.isWrite() ? posting.write(remote, rkey) : posting.send())
              .id(id++)
              .signaled()
              .local(region, offset(), SIZE);
        }
        all(posting.complete(), batch);
      }
    }
  }

  @Override
  public long poll() {
    if (choice.isExtended()) {
      return pollByCursor();
    } else if (session != null) {
      return pollBySession();
    }
    long sum = 0;
    for (int call = 0; call < calls; call++) {
      sum += Queues.poll(queue, completions, polled);
    }
    return sum;
  }

  private long pollBySession() {
    long sum = 0;
    for (int left = REQUESTS / choice.interval; left > 0; ) {
      while (session.next()) {
        if (!session.isSuccess()) {
          throw new IllegalStateException(session.describe());
        }
        sum += session.id() + session.byteLength();
        left--;
      }
    }
    return sum;
  }

  private long pollByCursor() {
    long sum = 0;
    for (int left = REQUESTS; left > 0; ) {
      try (CompletionCursor cursor = queues.extended.startPolling()) {
        for (int i = 0; i < batch && cursor.next(); i++) {
          if (!cursor.isSuccess()) {
            throw new IllegalStateException("a failed completion");
          }
          sum += cursor.id() + cursor.byteLength();
          left--;
        }
      }
    }
    return sum;
  }

  @Override
  public long pollEmpty() {
    long sum = 0;
    if (session != null) {
      for (int i = 0; i < REQUESTS; i++) {
        sum += session.next() ? 1 : 0;
      }
      return sum;
    }
    for (int i = 0; i < REQUESTS; i++) {
      sum += queue.poll(completions);
    }
    return sum;
  }

  private void postReceive() {
    for (int i = 0; i < batch; i++) {
      receives.id(i, id++);
      receives.local(i, region, offset(), SIZE);
    }
    all(queues.shared == null ? pair.post(receives) : queues.shared.post(receives), batch);
  }

  @Override
  public void postReceives() {
    for (int round = 0; round < rounds; round++) {
      postReceive();
    }
  }

  @Override
  public long receive() {
    long sum = 0;
    for (int round = 0; round < rounds; round++) {
      sum += Queues.poll(queue, completions, batch);
      postReceive();
    }
    return sum;
  }
}
