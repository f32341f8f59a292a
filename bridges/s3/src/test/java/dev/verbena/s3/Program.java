package dev.verbena.s3;

import dev.verbena.s3.server.Faults;
import dev.verbena.s3.server.Operation;
import dev.verbena.s3.server.StoredObject;
import java.nio.ByteBuffer;
import java.time.Instant;
import java.util.Base64;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionException;
import java.util.zip.CRC32;
import software.amazon.awssdk.core.ResponseBytes;
import software.amazon.awssdk.core.async.AsyncRequestBody;
import software.amazon.awssdk.core.async.AsyncResponseTransformer;
import software.amazon.awssdk.core.sync.RequestBody;
import software.amazon.awssdk.services.s3.S3AsyncClient;
import software.amazon.awssdk.services.s3.S3Client;
import software.amazon.awssdk.services.s3.model.CompletedPart;
import software.amazon.awssdk.services.s3.model.GetObjectRequest;
import software.amazon.awssdk.services.s3.model.GetObjectResponse;
import software.amazon.awssdk.services.s3.model.PutObjectRequest;
import software.amazon.awssdk.services.s3.model.UploadPartRequest;
import software.amazon.awssdk.services.s3.model.UploadPartResponse;

/** A program that knows nothing of RDMA, with one of the clients of the SDK. */
abstract class Program {
  static final String KEY = "k";

  private final Rig rig;

  private Program(Rig rig) {
    this.rig = rig;
  }

  static Program of(Rig rig, boolean isAsync) {
    return isAsync ? new Async(rig, rig.asyncClient()) : new Sync(rig, rig.client());
  }

  abstract void put(PutObjectRequest request, byte[] data);

  abstract UploadPartResponse part(UploadPartRequest request, byte[] data);

  abstract ResponseBytes<GetObjectResponse> get(GetObjectRequest request);

  static PutObjectRequest.Builder put() {
    return PutObjectRequest.builder().bucket(Rig.BUCKET).key(KEY);
  }

  static GetObjectRequest.Builder get(String range) {
    return GetObjectRequest.builder().bucket(Rig.BUCKET).key(KEY).range(range);
  }

  void put(byte[] data) {
    put(put().build(), data);
  }

  byte[] read(String range) {
    return get(get(range).build()).asByteArray();
  }

  /** Stores an object of parts. */
  void putParts(List<byte[]> parts) {
    S3Client client = rig.client();
    String id =
        client
            .createMultipartUpload(b -> b.bucket(Rig.BUCKET).key(KEY).checksumAlgorithm("CRC32"))
            .uploadId();
    CompletedPart[] completed = new CompletedPart[parts.size()];
    for (int i = 0; i < completed.length; i++) {
      int number = i + 1;
      UploadPartResponse response =
          part(
              UploadPartRequest.builder()
                  .bucket(Rig.BUCKET)
                  .key(KEY)
                  .uploadId(id)
                  .partNumber(number)
                  .checksumAlgorithm("CRC32")
                  .build(),
              parts.get(i));
      completed[i] =
          CompletedPart.builder()
              .partNumber(number)
              .eTag(response.eTag())
              .checksumCRC32(response.checksumCRC32())
              .build();
    }
    client.completeMultipartUpload(
        b -> b.bucket(Rig.BUCKET).key(KEY).uploadId(id).multipartUpload(u -> u.parts(completed)));
  }

  /** Stores an object without a request. */
  static void store(Rig rig, byte[] data) {
    store(rig, KEY, data);
  }

  static void store(Rig rig, String key, byte[] data) {
    CRC32 crc = new CRC32();
    crc.update(data);
    byte[] value = ByteBuffer.allocate(Integer.BYTES).putInt((int) crc.getValue()).array();
    rig.server
        .objects()
        .put(
            "/" + Rig.BUCKET + "/" + key,
            new StoredObject(
                data,
                "\"etag\"",
                Map.of(
                    "x-amz-checksum-crc32",
                    Base64.getEncoder().encodeToString(value),
                    "x-amz-checksum-type",
                    "FULL_OBJECT"),
                Map.of(),
                List.of(),
                Instant.now()));
  }

  /** Returns how many requests of a kind had a token. */
  static long tokens(Rig rig, Operation operation) {
    return rig.server.requests().stream()
        .filter(request -> request.operation() == operation)
        .filter(Faults.WITH_TOKEN)
        .count();
  }

  /** Returns the tokens of all requests. */
  static List<String> tokens(Rig rig) {
    return rig.server.requests().stream().flatMap(request -> request.token().stream()).toList();
  }

  static long requests(Rig rig, Operation operation) {
    return rig.server.requests().stream()
        .filter(request -> request.operation() == operation)
        .count();
  }

  static <T> T result(CompletableFuture<T> future) {
    try {
      return future.join();
    } catch (CompletionException e) {
      throw e.getCause() instanceof RuntimeException cause ? cause : e;
    }
  }

  private static final class Sync extends Program {
    private final S3Client client;

    Sync(Rig rig, S3Client client) {
      super(rig);
      this.client = client;
    }

    @Override
    void put(PutObjectRequest request, byte[] data) {
      client.putObject(request, RequestBody.fromBytes(data));
    }

    @Override
    UploadPartResponse part(UploadPartRequest request, byte[] data) {
      return client.uploadPart(request, RequestBody.fromBytes(data));
    }

    @Override
    ResponseBytes<GetObjectResponse> get(GetObjectRequest request) {
      return client.getObjectAsBytes(request);
    }
  }

  private static final class Async extends Program {
    private final S3AsyncClient client;

    Async(Rig rig, S3AsyncClient client) {
      super(rig);
      this.client = client;
    }

    @Override
    void put(PutObjectRequest request, byte[] data) {
      result(client.putObject(request, AsyncRequestBody.fromBytes(data)));
    }

    @Override
    UploadPartResponse part(UploadPartRequest request, byte[] data) {
      return result(client.uploadPart(request, AsyncRequestBody.fromBytes(data)));
    }

    @Override
    ResponseBytes<GetObjectResponse> get(GetObjectRequest request) {
      return result(client.getObject(request, AsyncResponseTransformer.toBytes()));
    }
  }
}
