package dev.verbena.s3.server;

import static java.nio.charset.StandardCharsets.UTF_8;

import com.sun.net.httpserver.Headers;
import java.net.URI;
import java.net.URLDecoder;
import java.util.Arrays;
import java.util.HashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Optional;
import java.util.TreeMap;

/**
 * A request as it was on the wire, without its body.
 *
 * @param operation the operation
 * @param method the HTTP method
 * @param uri path and query, as sent
 * @param headers the headers, with names in lower case; several of a name are joined by commas
 * @param query the decoded parameters
 * @param bodyLength the number of bytes in the HTTP body, before aws-chunked is decoded
 */
public record S3Request(
    Operation operation,
    String method,
    URI uri,
    Map<String, String> headers,
    Map<String, String> query,
    long bodyLength) {

  static final String TOKEN = "x-amz-rdma-token";
  private static final String DESCRIPTOR = "x-cuobj-rdma-descr";

  static S3Request of(String method, URI uri, Headers received, long bodyLength) {
    Map<String, String> headers = new TreeMap<>();
    received.forEach(
        (name, values) -> headers.put(name.toLowerCase(Locale.ROOT), String.join(",", values)));
    Map<String, String> query = new HashMap<>();
    for (String pair : rawQuery(uri)) {
      String[] parts = pair.split("=", 2);
      query.put(decode(parts[0]), parts.length == 1 ? "" : decode(parts[1]));
    }
    String path = path(uri, headers);
    Operation operation = Operation.of(method, path, keyOf(path), query);
    return new S3Request(operation, method, uri, headers, query, bodyLength);
  }

  private static String decode(String text) {
    return URLDecoder.decode(text, UTF_8);
  }

  static List<String> rawQuery(URI uri) {
    String raw = uri.getRawQuery();
    return raw == null || raw.isEmpty() ? List.of() : Arrays.asList(raw.split("&"));
  }

  private static String keyOf(String path) {
    int slash = path.indexOf('/', 1);
    return slash < 0 ? "" : path.substring(slash + 1);
  }

  /** {@return the decoded path, {@code /bucket/key}} */
  public String path() {
    return path(uri, headers);
  }

  private static String path(URI uri, Map<String, String> headers) {
    String host = headers.getOrDefault("host", "");
    int bucket = host.indexOf(".localhost");
    return bucket < 0 ? uri.getPath() : "/" + host.substring(0, bucket) + uri.getPath();
  }

  /** {@return the bucket's name} */
  public String bucket() {
    String path = path();
    int slash = path.indexOf('/', 1);
    return path.substring(1, slash < 0 ? path.length() : slash);
  }

  /** {@return the object's key} */
  public String key() {
    return keyOf(path());
  }

  /**
   * {@return a header}
   *
   * @param name its name, in lower case
   */
  public Optional<String> header(String name) {
    return Optional.ofNullable(headers.get(name));
  }

  /** {@return the token: that of the protocol, or the descriptor of versity's client} */
  public Optional<String> token() {
    return header(TOKEN).or(() -> header(DESCRIPTOR));
  }

  /** {@return the names of the signed headers; empty if the request is not signed} */
  public List<String> signedHeaders() {
    String names = query.get("X-Amz-SignedHeaders");
    if (names == null) {
      String authorization = headers.getOrDefault("authorization", "");
      int start = authorization.indexOf("SignedHeaders=");
      if (start < 0) {
        return List.of();
      }
      names = authorization.substring(start + "SignedHeaders=".length()).split(",", 2)[0];
    }
    return List.of(names.split(";"));
  }

  boolean isAwsChunked() {
    return headers.getOrDefault("x-amz-content-sha256", "").startsWith("STREAMING-");
  }
}
