package dev.verbena.s3;

import java.lang.ref.Cleaner;
import java.nio.ByteBuffer;
import java.util.Optional;
import org.reactivestreams.Publisher;
import software.amazon.awssdk.http.ContentStreamProvider;
import software.amazon.awssdk.http.SdkHttpRequest;
import software.amazon.awssdk.http.SdkHttpResponse;

/**
 * One call of a client. Its first attempt goes by RDMA if it can; the SDK repeats it, if it must,
 * by HTTP as if there were no bridge.
 */
final class Transfer {
  private static final int REPEAT = 503; // The SDK repeats a call with this status.
  private static final String CUSTOMER_KEY = "x-amz-server-side-encryption-customer-algorithm";

  /** Ends the use of memory by calls that were forgotten: cancelled ones, unread responses. */
  private static final Cleaner CLEANER =
      Cleaner.create(Thread.ofPlatform().daemon().name("verbena-s3-cleaner").factory());

  private final Operation operation;
  private final Endpoints endpoints;
  private final boolean suits;
  private final S3Buffer buffer;
  private final Publisher<ByteBuffer> body;
  private int attempts;
  private Endpoint endpoint;
  private Lease lease;
  private Outcome outcome = Outcome.NONE;
  private Content received;

  /** What is to be done with the body of the response. */
  private enum Outcome {
    /** The body is that of the HTTP response. */
    NONE,
    /** The body is what was received by RDMA. */
    RECEIVED,
    /** There is no body: the call is repeated. */
    REPEATED
  }

  /**
   * Creates one.
   *
   * @param suits whether the client repeats a call that failed, and does not change bodies
   * @param buffer registered memory of the program that has the data; null if it has none
   * @param body the data that an asynchronous client sends; null if the client is another one
   */
  Transfer(
      Operation operation,
      Endpoints endpoints,
      boolean suits,
      S3Buffer buffer,
      Publisher<ByteBuffer> body) {
    this.operation = operation;
    this.endpoints = endpoints;
    this.suits = suits;
    this.buffer = buffer;
    this.body = body;
  }

  /** {@return the data that an asynchronous client sends, not encoded; null if it has none} */
  Publisher<ByteBuffer> body() {
    return body;
  }

  Operation operation() {
    return operation;
  }

  /**
   * Begins an attempt.
   *
   * @param request what will be signed
   * @param length the bytes to send; negative if they are not known, or if nothing is sent
   * @param source what a synchronous client sends; null if it sends nothing, or is another one
   * @return the memory of an attempt by RDMA; null for one by HTTP
   */
  synchronized Lease begin(SdkHttpRequest request, long length, ContentStreamProvider source) {
    attempts++;
    if (attempts > 1) {
      if (endpoint != null) {
        endpoint.counters.count(S3Counter.REPEATED);
      }
      if (lease != null && !lease.is(Lease.State.KEPT)) {
        if (!lease.is(Lease.State.PRIVATE)) {
          endpoint.fail(operation, S3Counter.FAILED, "an attempt ended without a response");
        }
        endAttempt();
      }
      if (received != null) {
        received.close();
      }
      return null;
    }
    Endpoint found = endpoints.of(request).orElse(null);
    if (found == null || !suits(request, found)) {
      return null;
    }
    long size = operation.direction == Buffers.Direction.GET ? limit(request) : length;
    if (!fits(size, found.counters)) {
      return null;
    }
    boolean isIn = buffer != null && source != null && buffer.isIn(source);
    lease = found.take(operation, size, request.protocol(), isIn ? buffer : null);
    if (lease != null) {
      endpoint = found;
      Lease taken = lease;
      CLEANER.register(this, taken::end);
    }
    return lease;
  }

  private boolean suits(SdkHttpRequest request, Endpoint found) {
    boolean isSecret =
        request.protocol().equals("https") || request.firstMatchingHeader(CUSTOMER_KEY).isPresent();
    boolean isConditionalPut =
        operation == Operation.PUT_OBJECT
            && (request.firstMatchingHeader("If-None-Match").isPresent()
                || request.firstMatchingHeader("If-Match").isPresent());
    boolean isSuited =
        suits
            && (!isSecret || endpoints.settings().encrypted())
            && request.firstMatchingHeader("Content-MD5").isEmpty()
            // A server that knows no tokens would store nothing, and refuse the repetition.
            && (!isConditionalPut || found.hasRead());
    if (!isSuited) {
      found.counters.count(S3Counter.UNSUITED);
    }
    return isSuited;
  }

  private static long limit(SdkHttpRequest request) {
    return request.firstMatchingHeader("Range").map(Range::limit).orElse(-1L);
  }

  private boolean fits(long size, Counters counters) {
    Settings settings = endpoints.settings();
    if (size < 0) {
      counters.count(S3Counter.UNBOUNDED);
    } else if (size < settings.minBytes()) {
      counters.count(S3Counter.BELOW_THRESHOLD);
    } else if (size > settings.maxBytes()) {
      counters.count(S3Counter.OVERSIZE);
    }
    return size >= settings.minBytes() && size <= settings.maxBytes();
  }

  /** The attempt goes by HTTP after all, since the call does not suit. */
  synchronized void retreat() {
    endpoint.counters.count(S3Counter.UNSUITED);
    giveUp();
  }

  /** {@return the data to send again by HTTP; null if the memory does not have it} */
  synchronized Content again() {
    return lease == null || !lease.is(Lease.State.KEPT)
        ? null
        : new Content(this, lease, lease.length(), false);
  }

  /** Other attempts send the data of the memory, as a program's stream can often be read once. */
  private void endAttempt() {
    if (operation.direction == Buffers.Direction.GET || !lease.keep()) {
      giveUp();
    }
  }

  /** Ends the use of memory, after which a server does not access it. */
  private void giveUp() {
    Lease ended = lease;
    lease = null;
    if (ended != null) {
      ended.end();
    }
  }

  /**
   * Reads a response.
   *
   * @return the response for the SDK
   */
  synchronized SdkHttpResponse answer(SdkHttpRequest request, SdkHttpResponse response) {
    String token = request.firstMatchingHeader(Reply.TOKEN).orElse(null);
    if (lease == null || !lease.token().equals(token)) {
      return response;
    }
    Reply reply =
        Reply.of(operation, request, response, lease.length(), endpoints.settings().requireReply());
    TransferEvent.record(operation, endpoint, reply, lease);
    return switch (reply.verdict()) {
      case MOVED -> moved(reply, response);
      case ORDINARY -> {
        lease.answer();
        giveUp();
        if (response.isSuccessful()) {
          endpoint.fail(operation, S3Counter.IGNORED, reply.reason());
        }
        yield response;
      }
      default -> repeat(reply.verdict().counter, reply.reason(), response);
    };
  }

  private SdkHttpResponse moved(Reply reply, SdkHttpResponse response) {
    boolean isInTime = lease.answer();
    if (operation.direction == Buffers.Direction.PUT) {
      endpoint.moved(operation, reply.bytes()); // Also late: the server has read all of it.
      giveUp();
      return response;
    }
    if (!isInTime) {
      return repeat(S3Counter.FAILED, "the response came after the timeout", response);
    }
    if (!lease.isWritten(reply.bytes())) {
      return repeat(
          S3Counter.PROTOCOL_ERRORS, "the server did not write all that it says", response);
    }
    Optional<DataChecksum> wrong = wrongChecksum(reply, response);
    if (wrong.isPresent()) {
      return repeat(S3Counter.PROTOCOL_ERRORS, "the data has another " + wrong.get(), response);
    }
    endpoint.moved(operation, reply.bytes());
    outcome = Outcome.RECEIVED;
    received = new Content(this, lease, reply.bytes(), true);
    lease = null;
    return response.toBuilder()
        .putHeader("Content-Length", Long.toString(reply.bytes()))
        .putHeader(SegmentTransformer.HEADER, SegmentTransformer.offer(received))
        .build();
  }

  /** The checksum is that of the whole object; that of several parts is not of their data. */
  private Optional<DataChecksum> wrongChecksum(Reply reply, SdkHttpResponse response) {
    if (reply.range().filter(Range::isWhole).isEmpty()) {
      return Optional.empty();
    }
    for (DataChecksum checksum : DataChecksum.values()) {
      String expected = response.firstMatchingHeader(checksum.header()).orElse("-").strip();
      if (!expected.contains("-") && !expected.equals(lease.checksum(checksum, reply.bytes()))) {
        return Optional.of(checksum);
      }
    }
    return Optional.empty();
  }

  private SdkHttpResponse repeat(S3Counter counter, String reason, SdkHttpResponse response) {
    endpoint.fail(operation, counter, reason);
    lease.distrust();
    endAttempt();
    outcome = Outcome.REPEATED;
    return response.toBuilder()
        .statusCode(REPEAT)
        .statusText("to be repeated without RDMA")
        .removeHeader("Content-Length")
        .removeHeader("Transfer-Encoding")
        .build();
  }

  /** Returns whether the response to a request has another body than that of HTTP. */
  synchronized boolean replacesBody(SdkHttpRequest request) {
    return outcome != Outcome.NONE && request.firstMatchingHeader(Reply.TOKEN).isPresent();
  }

  /** {@return what was received by RDMA; null if nothing was} */
  synchronized Content received() {
    return outcome == Outcome.RECEIVED ? received : null;
  }

  /** The call has ended; what it has received stays. */
  synchronized void end() {
    if (lease != null && lease.is(Lease.State.OFFERED)) {
      endpoint.counters.count(S3Counter.FAILED);
    }
    giveUp();
  }

  /** The call has ended with an exception. */
  synchronized void fail() {
    end();
    if (received != null) {
      received.close();
    }
  }
}
