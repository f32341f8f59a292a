package dev.verbena.s3.server;

import static java.nio.charset.StandardCharsets.UTF_8;

import dev.verbena.s3.server.StoredObject.StoredPart;
import java.util.Locale;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.TreeMap;
import java.util.TreeSet;
import java.util.UUID;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ConcurrentMap;

/** Buckets, objects and multipart uploads, in memory. */
final class Store {
  final ConcurrentMap<String, StoredObject> objects = new ConcurrentHashMap<>();
  private final Set<String> buckets = ConcurrentHashMap.newKeySet();
  private final ConcurrentMap<String, Upload> uploads = new ConcurrentHashMap<>();

  Store() {
    buckets.add(S3Server.BUCKET);
  }

  Reply createBucket(S3Request request) {
    buckets.add(request.bucket());
    return new Reply(200).with("location", "/" + request.bucket());
  }

  Reply headBucket(S3Request request) {
    requireBucket(request);
    return new Reply(200);
  }

  void requireBucket(S3Request request) {
    if (!buckets.contains(request.bucket())) {
      throw new S3Exception(404, "NoSuchBucket", "no bucket " + request.bucket());
    }
  }

  // Objects

  Reply put(S3Request request, Payload payload) {
    requireCondition(request);
    StoredObject object = StoredObject.of(request, payload);
    objects.put(request.path(), object);
    Reply reply = new Reply(200).with("etag", object.etag());
    object.checksums().forEach(reply::with);
    return reply;
  }

  Selection select(S3Request request) {
    StoredObject object = objects.get(request.path());
    if (object == null) {
      throw new S3Exception(404, "NoSuchKey", "no object " + request.path());
    }
    requireCondition(request);
    return Selection.of(object, request);
  }

  private void requireCondition(S3Request request) {
    Optional<StoredObject> object = Optional.ofNullable(objects.get(request.path()));
    Optional<String> wanted = request.header("if-match");
    if (wanted.isPresent() && object.filter(o -> matches(wanted.get(), o)).isEmpty()) {
      throw new S3Exception(412, "PreconditionFailed", "If-Match: " + wanted.get());
    }
    Optional<String> unwanted = request.header("if-none-match");
    if (unwanted.isPresent() && object.filter(o -> matches(unwanted.get(), o)).isPresent()) {
      int status = request.method().equals("GET") || request.method().equals("HEAD") ? 304 : 412;
      throw new S3Exception(status, "PreconditionFailed", "If-None-Match: " + unwanted.get());
    }
  }

  private static boolean matches(String etag, StoredObject object) {
    return etag.equals("*") || etag.replace("\"", "").equals(object.etag().replace("\"", ""));
  }

  Reply delete(S3Request request) {
    objects.remove(request.path());
    return new Reply(204);
  }

  // Multipart uploads

  Reply createUpload(S3Request request) {
    Upload upload = new Upload(request);
    String id = UUID.randomUUID().toString();
    uploads.put(id, upload);
    Reply reply =
        Reply.xml(
            200,
            new Xml("InitiateMultipartUploadResult")
                .add("Bucket", request.bucket())
                .add("Key", request.key())
                .add("UploadId", id));
    upload.algorithm.ifPresent(used -> reply.with("x-amz-checksum-algorithm", used.name()));
    return reply;
  }

  Upload upload(S3Request request) {
    Upload upload = uploads.get(request.query().get("uploadId"));
    if (upload == null || !upload.path.equals(request.path())) {
      throw new S3Exception(404, "NoSuchUpload", "no such upload");
    }
    return upload;
  }

  Reply putPart(S3Request request, Payload payload) {
    int number = Integer.parseInt(request.query().get("partNumber"));
    StoredPart part = upload(request).put(number, payload);
    Reply reply = new Reply(200).with("etag", part.etag());
    part.checksums().forEach(reply::with);
    return reply;
  }

  Reply completeUpload(S3Request request, byte[] body) {
    StoredObject object = upload(request).complete(new String(body, UTF_8));
    requireCondition(request);
    objects.put(request.path(), object);
    uploads.remove(request.query().get("uploadId"));
    Xml result =
        new Xml("CompleteMultipartUploadResult")
            .add("Bucket", request.bucket())
            .add("Key", request.key())
            .add("ETag", object.etag());
    object
        .checksums()
        .forEach(
            (header, value) ->
                result.add(
                    header.endsWith("-type")
                        ? "ChecksumType"
                        : "Checksum"
                            + header.substring("x-amz-checksum-".length()).toUpperCase(Locale.ROOT),
                    value));
    return Reply.xml(200, result);
  }

  Reply abortUpload(S3Request request) {
    upload(request);
    uploads.remove(request.query().get("uploadId"));
    return new Reply(204);
  }

  // Lists

  /** ListObjectsV2. A continuation token is the last key of the page before. */
  Reply list(S3Request request) {
    requireBucket(request);
    Map<String, String> query = request.query();
    String prefix = query.getOrDefault("prefix", "");
    String delimiter = query.getOrDefault("delimiter", "");
    int max = Integer.parseInt(query.getOrDefault("max-keys", "1000"));
    String after = query.getOrDefault("continuation-token", query.getOrDefault("start-after", ""));
    String bucket = "/" + request.bucket() + "/";
    Map<String, StoredObject> found = new TreeMap<>();
    objects.forEach(
        (path, object) -> {
          if (path.startsWith(bucket + prefix)) {
            found.put(path.substring(bucket.length()), object);
          }
        });
    Xml result = new Xml("ListBucketResult").add("Name", request.bucket()).add("Prefix", prefix);
    Set<String> prefixes = new TreeSet<>();
    String last = "";
    int count = 0;
    boolean isTruncated = false;
    for (var entry : found.entrySet()) {
      String key = entry.getKey();
      int end = delimiter.isEmpty() ? -1 : key.indexOf(delimiter, prefix.length());
      String common = end < 0 ? "" : key.substring(0, end + delimiter.length());
      String name = end < 0 ? key : common;
      if (name.compareTo(after) <= 0 || prefixes.contains(common)) {
        continue;
      }
      if (count == max) {
        isTruncated = true;
        break;
      }
      count++;
      last = name;
      if (end < 0) {
        result.add(content(key, entry.getValue()));
      } else {
        prefixes.add(common);
      }
    }
    prefixes.forEach(common -> result.add(new Xml("CommonPrefixes").add("Prefix", common)));
    if (isTruncated) {
      result.add("NextContinuationToken", last);
    }
    result.add("KeyCount", count).add("MaxKeys", max).add("IsTruncated", isTruncated);
    return Reply.xml(200, result);
  }

  private static Xml content(String key, StoredObject object) {
    return new Xml("Contents")
        .add("Key", key)
        .add("LastModified", object.modified())
        .add("ETag", object.etag())
        .add("Size", object.data().length)
        .add("StorageClass", "STANDARD");
  }
}
