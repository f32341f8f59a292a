package dev.verbena.s3.server;

import static java.nio.charset.StandardCharsets.UTF_8;

import java.util.LinkedHashMap;
import java.util.Map;

/** An answer: status, headers and body. */
final class Reply {
  private static final byte[] EMPTY = {};

  int status;
  final Map<String, String> headers = new LinkedHashMap<>();
  byte[] body = EMPTY;

  /** What Content-Length says if there is no body: of HEAD. */
  long length;

  /** Whether a body is chunked, also if it is empty. */
  boolean isChunked;

  Reply(int status) {
    this.status = status;
  }

  static Reply xml(int status, Xml xml) {
    return new Reply(status)
        .with("content-type", "application/xml")
        .body(xml.toString().getBytes(UTF_8));
  }

  Reply with(String name, String value) {
    headers.put(name, value);
    return this;
  }

  Reply body(byte[] bytes) {
    body = bytes;
    length = bytes.length;
    return this;
  }
}
