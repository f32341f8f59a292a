package dev.verbena.s3.server;

import java.time.Instant;
import java.time.ZoneOffset;
import java.time.format.DateTimeFormatter;
import java.util.HexFormat;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.TreeMap;

/**
 * A stored object.
 *
 * @param data the data
 * @param etag the ETag, in quotes
 * @param checksums the headers with its checksums and their type
 * @param metadata the headers that were stored with it
 * @param parts the parts of a multipart upload, else empty
 * @param modified when it was stored
 */
public record StoredObject(
    byte[] data,
    String etag,
    Map<String, String> checksums,
    Map<String, String> metadata,
    List<StoredPart> parts,
    Instant modified) {

  private static final List<String> STORED =
      List.of("content-type", "content-encoding", "cache-control", "content-disposition");

  /**
   * A part of an object.
   *
   * @param data the data
   * @param etag the ETag, in quotes
   * @param checksums the checksums, in Base64, by the name of the algorithm
   */
  public record StoredPart(byte[] data, String etag, Map<String, String> checksums) {}

  static StoredObject of(S3Request request, Payload payload) {
    Map<String, String> checksums = new TreeMap<>();
    payload.checksums().forEach((algorithm, value) -> checksums.put(algorithm.header(), value));
    if (!checksums.isEmpty()) {
      checksums.put("x-amz-checksum-type", "FULL_OBJECT");
    }
    return new StoredObject(
        payload.data(),
        etag(payload.data(), ""),
        checksums,
        metadata(request),
        List.of(),
        Instant.now());
  }

  static String etag(byte[] data, String suffix) {
    return '"' + HexFormat.of().formatHex(ChecksumAlgorithm.digest("MD5", data)) + suffix + '"';
  }

  static Map<String, String> metadata(S3Request request) {
    Map<String, String> metadata = new TreeMap<>();
    request
        .headers()
        .forEach(
            (name, value) -> {
              if (name.startsWith("x-amz-meta-") || STORED.contains(name)) {
                metadata.put(name, value);
              }
            });
    // aws-chunked is the encoding of the request, not that of the object.
    metadata.computeIfPresent(
        "content-encoding",
        (_, value) -> {
          String rest = value.replaceAll(" *,? *aws-chunked", "").strip();
          return rest.isEmpty() ? null : rest;
        });
    return metadata;
  }

  String lastModified() {
    return DateTimeFormatter.ofPattern("EEE, dd MMM yyyy HH:mm:ss 'GMT'", Locale.ROOT)
        .withZone(ZoneOffset.UTC)
        .format(modified);
  }
}
