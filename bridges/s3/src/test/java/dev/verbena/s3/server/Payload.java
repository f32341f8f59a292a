package dev.verbena.s3.server;

import static java.nio.charset.StandardCharsets.ISO_8859_1;

import java.io.ByteArrayOutputStream;
import java.util.Arrays;
import java.util.HashMap;
import java.util.Locale;
import java.util.Map;

/**
 * The data of an object or a part, and the checksums that the request has for it.
 *
 * @param data the data, without the framing of aws-chunked
 * @param checksums the checksums, in Base64
 */
record Payload(byte[] data, Map<ChecksumAlgorithm, String> checksums) {

  /** Of the body of a request. */
  static Payload of(S3Request request, byte[] body) {
    Map<String, String> fields = new HashMap<>(request.headers());
    byte[] data = request.isAwsChunked() ? decode(body, fields) : body;
    String decoded = fields.get("x-amz-decoded-content-length");
    if (decoded != null && Long.parseLong(decoded) != data.length) {
      throw new S3Exception(400, "IncompleteBody", "the decoded body has another length");
    }
    return new Payload(data, checksums(fields));
  }

  /** Of a request whose data came by RDMA. */
  static Payload moved(S3Request request, byte[] data) {
    return new Payload(data, checksums(request.headers()));
  }

  private static Map<ChecksumAlgorithm, String> checksums(Map<String, String> fields) {
    Map<ChecksumAlgorithm, String> checksums = new HashMap<>();
    for (ChecksumAlgorithm algorithm : ChecksumAlgorithm.values()) {
      if (fields.containsKey(algorithm.header())) {
        checksums.put(algorithm, fields.get(algorithm.header()));
      }
    }
    return checksums;
  }

  /** Throws if a checksum is not that of the data. */
  void verify(S3Request request) {
    checksums.forEach((algorithm, expected) -> compare(algorithm.of(data), expected));
    request
        .header("content-md5")
        .ifPresent(expected -> compare(ChecksumAlgorithm.digest("MD5", data), expected));
  }

  private static void compare(byte[] actual, String expected) {
    if (!ChecksumAlgorithm.base64(actual).equals(expected)) {
      throw new S3Exception(
          400,
          "BadDigest",
          "the checksum of the data is %s, not %s"
              .formatted(ChecksumAlgorithm.base64(actual), expected));
    }
  }

  /** Decodes aws-chunked, and adds the trailers to the fields. */
  private static byte[] decode(byte[] body, Map<String, String> fields) {
    ByteArrayOutputStream data = new ByteArrayOutputStream(body.length);
    int at = 0;
    while (true) {
      String line = line(body, at);
      at += line.length() + 2;
      int size = Integer.parseInt(line.split(";", 2)[0], 16);
      if (size == 0) {
        break;
      }
      data.write(body, at, size);
      at += size + 2;
    }
    while (at < body.length) {
      String line = line(body, at);
      at += line.length() + 2;
      if (!line.isEmpty()) {
        String[] field = line.split(":", 2);
        fields.put(field[0].strip().toLowerCase(Locale.ROOT), field[1].strip());
      }
    }
    return data.toByteArray();
  }

  private static String line(byte[] body, int from) {
    int end = from;
    while (end < body.length && body[end] != '\r') {
      end++;
    }
    return new String(Arrays.copyOfRange(body, from, end), ISO_8859_1);
  }
}
