package dev.verbena.s3;

import java.util.Map;
import software.amazon.awssdk.awscore.client.builder.AwsClientBuilder;
import software.amazon.awssdk.core.sync.ResponseTransformer;
import software.amazon.awssdk.services.s3.S3BaseClientBuilder;
import software.amazon.awssdk.services.s3.model.GetObjectResponse;

/**
 * S3 over RDMA for clients of the AWS SDK for Java v2.
 *
 * <p>With this library on the class path and the system property {@code dev.verbena.s3.endpoints},
 * all clients that sign by signature version 4 use it: PutObject, UploadPart and GetObject with a
 * range of a known size go by RDMA, and everything else by HTTP. The methods here are for programs
 * that want more.
 */
public final class S3Rdma {
  private S3Rdma() {}

  /**
   * Makes a client use RDMA whether or not the SDK finds the interceptor on the class path, which
   * depends on its class loader.
   *
   * {@snippet :
   * S3Client client = S3Rdma.configure(S3Client.builder()).build();
   * }
   *
   * @param <B> the type of the builder
   * @param builder the builder of a client
   * @return the builder
   * @throws IllegalArgumentException if a system property is not valid
   */
  public static <B extends S3BaseClientBuilder<B, C> & AwsClientBuilder<B, C>, C> B configure(
      B builder) {
    return configure(builder, Settings.read());
  }

  static <B extends S3BaseClientBuilder<B, C> & AwsClientBuilder<B, C>, C> B configure(
      B builder, Settings settings) {
    return builder.overrideConfiguration(
        builder.overrideConfiguration().toBuilder()
            .addExecutionInterceptor(new RdmaInterceptor(Endpoints.of(settings)))
            .build());
  }

  /**
   * Returns a transformer that leaves the data where the server wrote it: nothing is copied.
   *
   * {@snippet :
   * try (S3Segment data = client.getObject(request, S3Rdma.toSegment())) {
   *   use(data.segment());
   * }
   * }
   *
   * @return the transformer for {@code S3Client.getObject}
   */
  public static ResponseTransformer<GetObjectResponse, S3Segment> toSegment() {
    return new SegmentTransformer();
  }

  /**
   * Allocates memory for data to be stored: nothing is copied.
   *
   * @param size the size of the data; what is larger than {@code dev.verbena.s3.maxBytes} goes by
   *     HTTP
   * @return the memory, to be closed
   * @throws IllegalArgumentException if the size is not positive
   */
  public static S3Buffer allocate(long size) {
    if (size < 1) {
      throw new IllegalArgumentException("not positive: " + size);
    }
    return new S3Buffer(size);
  }

  /**
   * Returns what became of the calls to each endpoint.
   *
   * @return the counters by the endpoints of the settings
   */
  public static Map<String, Map<S3Counter, Long>> counters() {
    return Endpoints.counters();
  }
}
