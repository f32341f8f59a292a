package dev.verbena.s3.server;

import static java.util.function.Function.identity;
import static java.util.stream.Collectors.toMap;

import java.util.Map;
import java.util.concurrent.atomic.LongAdder;
import java.util.stream.Stream;

/** What a server has counted. */
public final class Counters {
  private final Map<Operation, LongAdder> requests = adders();
  private final Map<Operation, LongAdder> received = adders();
  private final Map<Operation, LongAdder> sent = adders();
  final LongAdder read = new LongAdder();
  final LongAdder written = new LongAdder();
  final LongAdder failures = new LongAdder();
  final LongAdder unreadable = new LongAdder();

  Counters() {}

  private static Map<Operation, LongAdder> adders() {
    return Stream.of(Operation.values()).collect(toMap(identity(), _ -> new LongAdder()));
  }

  void request(S3Request request) {
    requests.get(request.operation()).increment();
    received.get(request.operation()).add(request.bodyLength());
  }

  void answer(Operation operation, long bytes) {
    sent.get(operation).add(bytes);
  }

  /**
   * {@return the number of requests, refused ones included}
   *
   * @param operation of this kind
   */
  public long requests(Operation operation) {
    return requests.get(operation).sum();
  }

  /**
   * {@return the number of bytes in the HTTP bodies of requests}
   *
   * @param operation of this kind
   */
  public long httpReceived(Operation operation) {
    return received.get(operation).sum();
  }

  /**
   * {@return the number of bytes in the HTTP bodies of answers}
   *
   * @param operation of this kind
   */
  public long httpSent(Operation operation) {
    return sent.get(operation).sum();
  }

  /** {@return the number of bytes read by RDMA, for PUT} */
  public long rdmaRead() {
    return read.sum();
  }

  /** {@return the number of bytes written by RDMA, for GET} */
  public long rdmaWritten() {
    return written.sum();
  }

  /** {@return the number of RDMA READs and WRITEs that failed} */
  public long rdmaFailures() {
    return failures.sum();
  }

  /** {@return how often the READ after a WRITE failed, since the region allows writes only} */
  public long rdmaUnreadable() {
    return unreadable.sum();
  }
}
