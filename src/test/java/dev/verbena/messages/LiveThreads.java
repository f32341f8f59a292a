package dev.verbena.messages;

import dev.verbena.testing.Await;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.atomic.AtomicLong;
import jdk.jfr.consumer.RecordedEvent;
import jdk.jfr.consumer.RecordingStream;

/**
 * Counts the virtual threads that started since it was created and have not ended, and the threads
 * that read the events of endpoints. By events of Flight Recorder: a thread dump of JDK 25 may end
 * the JVM while virtual threads run (JDK-8364343).
 */
final class LiveThreads implements AutoCloseable {
  private final RecordingStream events = new RecordingStream();
  private final Set<Long> live = ConcurrentHashMap.newKeySet();
  private final AtomicLong latestEnded = new AtomicLong();

  LiveThreads() {
    var _ = events.enable("jdk.VirtualThreadStart").withoutStackTrace();
    var _ = events.enable("jdk.VirtualThreadEnd").withoutStackTrace();
    events.onEvent("jdk.VirtualThreadStart", event -> live.add(thread(event)));
    events.onEvent("jdk.VirtualThreadEnd", event -> ended(thread(event)));
    events.startAsync();
  }

  private void ended(long thread) {
    boolean _ = live.remove(thread);
    long _ = latestEnded.accumulateAndGet(thread, Math::max);
  }

  private static long thread(RecordedEvent event) {
    return event.getLong("javaThreadId");
  }

  /** Returns the number after the events of what has happened until now have arrived. */
  long count() throws InterruptedException {
    Thread last = Thread.startVirtualThread(() -> {});
    last.join();
    Await.until("the event of the last thread", () -> latestEnded.get() >= last.threadId());
    return latest();
  }

  /** Returns the number according to the events that have arrived. */
  long latest() {
    return live.size()
        + Thread.getAllStackTraces().keySet().stream()
            .filter(thread -> thread.getName().startsWith("endpoints of "))
            .count();
  }

  @Override
  public void close() {
    events.close();
  }
}
