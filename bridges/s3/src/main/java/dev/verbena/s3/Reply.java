package dev.verbena.s3;

import java.util.Optional;
import java.util.Set;
import software.amazon.awssdk.http.SdkHttpRequest;
import software.amazon.awssdk.http.SdkHttpResponse;

/**
 * What the response to a request with a token means.
 *
 * @param verdict what to do
 * @param reason why, unless the object was moved
 * @param bytes how many bytes the server moved
 * @param range which of the object they are, in a GET
 */
record Reply(Verdict verdict, String reason, long bytes, Optional<Range> range) {
  static final String TOKEN = "x-amz-rdma-token";
  static final String REPLY = "x-amz-rdma-reply";
  private static final String BYTES = "x-amz-rdma-bytes-transferred";
  private static final String DECLINED = "501";
  private static final Set<String> MOVED = Set.of("200", "204", "206");

  /** Responses that the user would have got by HTTP, too: the server does nothing more. */
  private static final Set<Integer> ORDINARY = Set.of(304, 403, 404, 412, 416);

  enum Verdict {
    /** The data was moved by RDMA. */
    MOVED,
    /** The response is that of a server without RDMA, and is complete. */
    ORDINARY,
    /** To be repeated by HTTP: the server stored, or would have stored, an empty object. */
    IGNORED(S3Counter.IGNORED),
    /** To be repeated by HTTP: the server does not do this by RDMA now. */
    DECLINED(S3Counter.DECLINED_BY_SERVER),
    /** To be repeated by HTTP: the server failed. */
    FAILED(S3Counter.FAILED),
    /** To be repeated by HTTP: the response contradicts the request. */
    CONTRADICTION(S3Counter.PROTOCOL_ERRORS);

    final S3Counter counter;

    Verdict() {
      this(null);
    }

    Verdict(S3Counter counter) {
      this.counter = counter;
    }
  }

  static Reply of(
      Operation operation,
      SdkHttpRequest request,
      SdkHttpResponse response,
      long size,
      boolean requireReply) {
    boolean isGet = operation.direction == Buffers.Direction.GET;
    int status = response.statusCode();
    Optional<String> reply = response.firstMatchingHeader(REPLY).map(String::strip);
    boolean hasMoved = reply.filter(MOVED::contains).isPresent();
    if (!response.isSuccessful()) {
      if (hasMoved) {
        return not(Verdict.CONTRADICTION, "HTTP status " + status + " with reply " + reply.get());
      }
      boolean isOnly = reply.isEmpty() || reply.get().equals(Integer.toString(status));
      if (isOnly && ORDINARY.contains(status)) {
        return not(Verdict.ORDINARY, "HTTP status " + status);
      }
      boolean isDecline = status == 400 || status == 501 || reply.isPresent();
      return not(
          isDecline ? Verdict.DECLINED : Verdict.FAILED,
          "HTTP status " + status + reply.map(r -> " with reply " + r).orElse(""));
    }
    if (hasMoved) {
      return isGet ? got(request, response, size) : put(response, size);
    }
    if (reply.isPresent()) {
      boolean isServed = isGet && reply.get().equals(DECLINED) && hasLength(response);
      return not(isServed ? Verdict.ORDINARY : Verdict.DECLINED, "reply " + reply.get());
    }
    if (isGet) {
      return not(
          hasLength(response) ? Verdict.ORDINARY : Verdict.CONTRADICTION,
          "no x-amz-rdma-reply" + (hasLength(response) ? "" : ", and perhaps no body"));
    }
    return !requireReply && response.firstMatchingHeader("ETag").isPresent()
        ? new Reply(Verdict.MOVED, "", size, Optional.empty())
        : not(Verdict.IGNORED, "no x-amz-rdma-reply");
  }

  private static Reply put(SdkHttpResponse response, long size) {
    Optional<String> bytes = response.firstMatchingHeader(BYTES);
    return bytes.isPresent() && !bytes.get().strip().equals(Long.toString(size))
        ? not(Verdict.CONTRADICTION, bytes.get() + " of " + size + " bytes were transferred")
        : new Reply(Verdict.MOVED, "", size, Optional.empty());
  }

  private static Reply got(SdkHttpRequest request, SdkHttpResponse response, long size) {
    String wanted = request.firstMatchingHeader("Range").orElse("");
    Optional<Range> range = response.firstMatchingHeader("Content-Range").flatMap(Range::ofContent);
    String bytes = response.firstMatchingHeader(BYTES).orElse("no").strip();
    if (hasLength(response)) { // A chunked body may be empty, and is ignored.
      return not(Verdict.CONTRADICTION, "the response has a body, too");
    }
    if (range.isEmpty() || !range.get().answers(wanted) || range.get().length() > size) {
      return not(
          Verdict.CONTRADICTION,
          "Range: "
              + wanted
              + ", Content-Range: "
              + response.firstMatchingHeader("Content-Range").orElse("none"));
    }
    return bytes.equals(Long.toString(range.get().length()))
        ? new Reply(Verdict.MOVED, "", range.get().length(), range)
        : not(
            Verdict.CONTRADICTION,
            bytes + " of " + range.get().length() + " bytes were transferred");
  }

  private static Reply not(Verdict verdict, String reason) {
    return new Reply(verdict, reason, 0, Optional.empty());
  }

  /** Otherwise the body may be empty, as that of an object which was moved. */
  private static boolean hasLength(SdkHttpResponse response) {
    return response
        .firstMatchingHeader("Content-Length")
        .filter(length -> !length.strip().equals("0"))
        .isPresent();
  }
}
