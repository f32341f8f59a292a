package dev.verbena.internal.jfr;

import java.util.concurrent.TimeUnit;
import jdk.jfr.Category;
import jdk.jfr.Description;
import jdk.jfr.Event;
import jdk.jfr.Label;
import jdk.jfr.Name;
import jdk.jfr.StackTrace;
import jdk.jfr.Unsigned;

/** A failed work completion. */
@Name("dev.verbena.FailedCompletion")
@Label("Failed Completion")
@Category("RDMA")
@Description("A poll returned a work completion whose status is not IBV_WC_SUCCESS")
@StackTrace(false)
final class FailedCompletionEvent extends Event {
  /**
   * The largest number of events within a second: a queue pair in the error state flushes all its
   * requests at once.
   */
  static final int PER_SECOND = 100;

  /** Asked whether events are enabled: it is never committed. */
  private static final FailedCompletionEvent ANY = new FailedCompletionEvent();

  private static long secondBegins = System.nanoTime();
  private static int recorded;
  private static long omittedSoFar;

  @Label("Completion Queue")
  String queue;

  @Label("Queue Pair Number")
  int queuePair;

  @Label("Work Request ID")
  @Unsigned
  long id;

  @Label("Status")
  @Description("The status, without IBV_WC_")
  String status;

  @Label("Vendor Error")
  @Unsigned
  int vendorError;

  @Label("Omitted")
  @Description("How many failed completions were not recorded since the previous event")
  long omitted;

  static boolean isRecorded() {
    return ANY.isEnabled();
  }

  static void record(Object queue, int queuePair, long id, Object status, int vendorError) {
    long omitted = admit();
    if (omitted < 0) {
      return;
    }
    FailedCompletionEvent event = new FailedCompletionEvent();
    event.queue = ObjectName.of(queue);
    event.queuePair = queuePair;
    event.id = id;
    event.status = status.toString();
    event.vendorError = vendorError;
    event.omitted = omitted;
    event.commit();
  }

  /** Returns how many events were omitted before this one; -1 if this one is to be omitted too. */
  private static synchronized long admit() {
    long now = System.nanoTime();
    if (now - secondBegins >= TimeUnit.SECONDS.toNanos(1)) {
      secondBegins = now;
      recorded = 0;
    }
    if (recorded == PER_SECOND) {
      omittedSoFar++;
      return -1;
    }
    recorded++;
    long omitted = omittedSoFar;
    omittedSoFar = 0;
    return omitted;
  }
}
