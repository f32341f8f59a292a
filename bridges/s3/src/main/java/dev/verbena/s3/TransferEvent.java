package dev.verbena.s3;

import jdk.jfr.Category;
import jdk.jfr.DataAmount;
import jdk.jfr.Description;
import jdk.jfr.Event;
import jdk.jfr.Label;
import jdk.jfr.Name;
import jdk.jfr.StackTrace;

/** Flight Recorder has one for each attempt by RDMA that a server answered. */
@Name("dev.verbena.S3Transfer")
@Label("S3 Transfer")
@Category({"Verbena"})
@Description("An attempt by RDMA, from the token to the response")
@StackTrace(false)
final class TransferEvent extends Event {
  private static final boolean IS_RECORDABLE = ModuleLayer.boot().findModule("jdk.jfr").isPresent();

  @Label("Operation")
  String operation;

  @Label("Endpoint")
  String endpoint;

  @Label("Outcome")
  String outcome;

  @Label("Reason")
  String reason;

  @Label("Bytes")
  @DataAmount
  long bytes;

  @Label("Milliseconds")
  double milliseconds;

  /** Records the end of an attempt. */
  static void record(Operation operation, Endpoint endpoint, Reply reply, Lease lease) {
    if (IS_RECORDABLE) {
      TransferEvent event = new TransferEvent();
      if (event.shouldCommit()) {
        event.operation = operation.toString();
        event.endpoint = endpoint.toString();
        event.outcome = reply.verdict().name();
        event.reason = reply.reason();
        event.bytes = reply.bytes();
        event.milliseconds = lease.nanosSinceOffer() / 1e6;
        event.commit();
      }
    }
  }
}
