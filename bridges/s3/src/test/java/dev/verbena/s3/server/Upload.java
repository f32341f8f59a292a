package dev.verbena.s3.server;

import dev.verbena.s3.server.StoredObject.StoredPart;
import java.io.ByteArrayOutputStream;
import java.time.Instant;
import java.util.ArrayList;
import java.util.Base64;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.TreeMap;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ConcurrentMap;

/** A multipart upload. */
final class Upload {
  final String path;
  final Optional<ChecksumAlgorithm> algorithm;
  private final boolean isOfWholeObject;
  private final Map<String, String> metadata;
  private final ConcurrentMap<Integer, StoredPart> parts = new ConcurrentHashMap<>();

  Upload(S3Request request) {
    path = request.path();
    algorithm = request.header("x-amz-checksum-algorithm").map(ChecksumAlgorithm::valueOf);
    isOfWholeObject =
        algorithm.filter(ChecksumAlgorithm.CRC64NVME::equals).isPresent()
            || request.header("x-amz-checksum-type").orElse("").equals("FULL_OBJECT");
    metadata = StoredObject.metadata(request);
  }

  StoredPart put(int number, Payload payload) {
    Map<String, String> checksums = new TreeMap<>();
    payload
        .checksums()
        .forEach(
            (used, value) -> {
              if (!used.equals(algorithm.orElse(used))) {
                throw S3Exception.invalid(
                    "the upload has checksums of " + algorithm.get() + ", the part of " + used);
              }
              checksums.put(used.header(), value);
            });
    StoredPart part =
        new StoredPart(payload.data(), StoredObject.etag(payload.data(), ""), checksums);
    parts.put(number, part);
    return part;
  }

  /** {@return the object of the parts that the request lists} */
  StoredObject complete(String xml) {
    List<StoredPart> listed = new ArrayList<>();
    int last = 0;
    for (String part : Xml.contents(xml, "Part")) {
      int number = Integer.parseInt(Xml.contents(part, "PartNumber").getFirst());
      StoredPart stored = parts.get(number);
      if (stored == null
          || !stored.etag().contains(Xml.contents(part, "ETag").getFirst().replace("\"", ""))) {
        throw new S3Exception(400, "InvalidPart", "no part " + number + " with this ETag");
      }
      if (number <= last) {
        throw new S3Exception(400, "InvalidPartOrder", number + " after " + last);
      }
      last = number;
      listed.add(stored);
    }
    if (listed.isEmpty()) {
      throw new S3Exception(400, "MalformedXML", "no parts");
    }
    ByteArrayOutputStream data = new ByteArrayOutputStream();
    ByteArrayOutputStream digests = new ByteArrayOutputStream();
    for (StoredPart part : listed) {
      data.writeBytes(part.data());
      digests.writeBytes(ChecksumAlgorithm.digest("MD5", part.data()));
    }
    return new StoredObject(
        data.toByteArray(),
        StoredObject.etag(digests.toByteArray(), "-" + listed.size()),
        checksums(listed, data.toByteArray()),
        metadata,
        listed,
        Instant.now());
  }

  private Map<String, String> checksums(List<StoredPart> listed, byte[] data) {
    if (algorithm.isEmpty()) {
      return Map.of();
    }
    ChecksumAlgorithm used = algorithm.get();
    String header = used.header();
    if (isOfWholeObject) {
      String value = ChecksumAlgorithm.base64(used.of(data));
      return Map.of(header, value, "x-amz-checksum-type", "FULL_OBJECT");
    }
    ByteArrayOutputStream values = new ByteArrayOutputStream();
    for (StoredPart part : listed) {
      if (!part.checksums().containsKey(header)) {
        return Map.of();
      }
      values.writeBytes(Base64.getDecoder().decode(part.checksums().get(header)));
    }
    String value = ChecksumAlgorithm.base64(used.of(values.toByteArray()));
    return Map.of(header, value + "-" + listed.size(), "x-amz-checksum-type", "COMPOSITE");
  }
}
