package dev.verbena.s3.server;

import java.util.LinkedHashMap;
import java.util.Map;

/** An error that the server answers, as S3's XML. */
final class S3Exception extends RuntimeException {
  private static final long serialVersionUID = 1;

  private final int status;
  private final String code;
  private final transient Map<String, String> headers = new LinkedHashMap<>();

  S3Exception(int status, String code, String message) {
    super(message);
    this.status = status;
    this.code = code;
  }

  static S3Exception invalid(String message) {
    return new S3Exception(400, "InvalidRequest", message);
  }

  static S3Exception internal(String message) {
    return new S3Exception(500, "InternalError", message);
  }

  static S3Exception notImplemented(String message) {
    return new S3Exception(501, "NotImplemented", message);
  }

  S3Exception with(String name, String value) {
    headers.put(name, value);
    return this;
  }

  Reply reply(String resource) {
    Reply reply =
        Reply.xml(
            status,
            new Xml("Error")
                .add("Code", code)
                .add("Message", getMessage())
                .add("Resource", resource)
                .add("RequestId", "0"));
    headers.forEach(reply::with);
    return reply;
  }
}
