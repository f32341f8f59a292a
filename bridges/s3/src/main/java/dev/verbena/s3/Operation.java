package dev.verbena.s3;

import java.util.Optional;
import software.amazon.awssdk.core.SdkRequest;
import software.amazon.awssdk.services.s3.model.GetObjectRequest;
import software.amazon.awssdk.services.s3.model.PutObjectRequest;
import software.amazon.awssdk.services.s3.model.UploadPartRequest;

/** The operations that go by RDMA. */
enum Operation {
  PUT_OBJECT(Buffers.Direction.PUT, "PutObject"),
  UPLOAD_PART(Buffers.Direction.PUT, "UploadPart"),
  GET_OBJECT(Buffers.Direction.GET, "GetObject");

  final Buffers.Direction direction;
  private final String text;

  Operation(Buffers.Direction direction, String text) {
    this.direction = direction;
    this.text = text;
  }

  static Optional<Operation> of(SdkRequest request) {
    return switch (request) {
      case PutObjectRequest _ -> Optional.of(PUT_OBJECT);
      case UploadPartRequest _ -> Optional.of(UPLOAD_PART);
      case GetObjectRequest _ -> Optional.of(GET_OBJECT);
      default -> Optional.empty();
    };
  }

  @Override
  public String toString() {
    return text;
  }
}
