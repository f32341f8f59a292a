package dev.verbena.s3;

import java.io.IOException;
import java.io.OutputStream;
import java.lang.foreign.MemorySegment;
import java.util.Arrays;
import java.util.List;
import java.util.Optional;
import software.amazon.awssdk.checksums.spi.ChecksumAlgorithm;
import software.amazon.awssdk.http.ContentStreamProvider;
import software.amazon.awssdk.http.SdkHttpRequest;
import software.amazon.awssdk.http.auth.aws.signer.AwsV4FamilyHttpSigner;
import software.amazon.awssdk.http.auth.aws.signer.AwsV4FamilyHttpSigner.AuthLocation;
import software.amazon.awssdk.http.auth.spi.signer.BaseSignRequest;
import software.amazon.awssdk.identity.spi.AwsCredentialsIdentity;

/**
 * The attempt of a call that goes by RDMA: what is sent of it by HTTP.
 *
 * @param request the request that an attempt by HTTP would send
 * @param checksum that of the data to send; null if the request has it
 */
record Attempt(Transfer transfer, Lease lease, SdkHttpRequest request, DataChecksum checksum) {
  private static final String TRAILER = "x-amz-trailer";
  static final String DECODED_LENGTH = "x-amz-decoded-content-length";

  private static final List<String> OF_THE_BODY =
      List.of(
          "Expect",
          "Transfer-Encoding",
          "x-amz-content-sha256",
          DECODED_LENGTH,
          "x-amz-sdk-checksum-algorithm",
          TRAILER);

  /**
   * Begins it; returns null if the call goes by HTTP.
   *
   * @param source what a synchronous client sends; null if it sends nothing, or is another one
   */
  static Attempt begin(
      Transfer transfer, BaseSignRequest<?, ?> signing, ContentStreamProvider source) {
    SdkHttpRequest request = signing.request();
    boolean isInHeaders = // Not that of a presigner.
        signing.requireProperty(AwsV4FamilyHttpSigner.AUTH_LOCATION, AuthLocation.HEADER)
            == AuthLocation.HEADER;
    boolean isAnonymous = // Such a request is not signed, so its token would not be.
        ((AwsCredentialsIdentity) signing.identity()).accessKeyId() == null;
    Lease lease =
        isInHeaders && !isAnonymous ? transfer.begin(request, length(request), source) : null;
    if (lease == null) {
      return null;
    }
    boolean hasChecksum = request.headers().keySet().stream().anyMatch(DataChecksum::isHeader);
    boolean isPut = transfer.operation().direction == Buffers.Direction.PUT;
    DataChecksum checksum = isPut && !hasChecksum ? checksum(request, signing) : null;
    if (isPut && !hasChecksum && checksum == null) {
      transfer.retreat();
      return null;
    }
    return new Attempt(transfer, lease, request, checksum);
  }

  private static long length(SdkHttpRequest request) {
    return request
        .firstMatchingHeader(DECODED_LENGTH)
        .or(() -> request.firstMatchingHeader("Content-Length"))
        .map(Long::parseLong)
        .orElse(-1L);
  }

  /** Returns what the SDK wants, or else what all servers know; null if it is not computed. */
  private static DataChecksum checksum(SdkHttpRequest request, BaseSignRequest<?, ?> signing) {
    Optional<String> trailer = request.firstMatchingHeader(TRAILER);
    ChecksumAlgorithm wanted = signing.property(AwsV4FamilyHttpSigner.CHECKSUM_ALGORITHM);
    if (trailer.isPresent()) { // Of a body that older versions of the SDK have encoded.
      return DataChecksum.ofHeader(trailer.get()).orElse(null);
    }
    return wanted == null
        ? DataChecksum.CRC32
        : DataChecksum.named(wanted.algorithmId()).orElse(null);
  }

  /** {@return whether data is still to be copied to the memory} */
  boolean wantsContent() {
    return transfer.operation().direction == Buffers.Direction.PUT && !lease.isFull();
  }

  /** Returns what copies the content. */
  OutputStream sink() {
    return new OutputStream() {
      @Override
      public void write(int value) throws IOException {
        write(new byte[] {(byte) value}, 0, 1);
      }

      @Override
      public void write(byte[] bytes, int offset, int length) throws IOException {
        lease.append(MemorySegment.ofArray(bytes).asSlice(offset, length));
      }
    };
  }

  /** Returns a request without what the SDK says of the body before the signer. */
  private static SdkHttpRequest.Builder withoutBody(SdkHttpRequest request) {
    SdkHttpRequest.Builder builder = request.toBuilder();
    OF_THE_BODY.forEach(builder::removeHeader);
    List<String> encodings =
        request.matchingHeaders("Content-Encoding").stream()
            .flatMap(value -> Arrays.stream(value.split(",")))
            .map(String::strip)
            .filter(value -> !value.equals("aws-chunked") && !value.isEmpty())
            .toList();
    builder.removeHeader("Content-Encoding");
    if (!encodings.isEmpty()) {
      builder.putHeader("Content-Encoding", String.join(",", encodings));
    }
    return builder;
  }

  /**
   * Returns a request for data that older versions of the SDK have encoded before the signer: not
   * encoded, with its checksum in a header.
   */
  static SdkHttpRequest repetition(SdkHttpRequest request, Content data) {
    SdkHttpRequest.Builder builder =
        withoutBody(request).putHeader("Content-Length", Long.toString(data.length()));
    request
        .firstMatchingHeader(TRAILER)
        .flatMap(DataChecksum::ofHeader)
        .ifPresent(c -> builder.putHeader(c.header(), data.lease().checksum(c, data.length())));
    return builder.build();
  }

  /** Returns the request with the token, to be signed. */
  SdkHttpRequest proposal() {
    SdkHttpRequest.Builder builder = withoutBody(request).putHeader(Reply.TOKEN, lease.token());
    if (transfer.operation().direction == Buffers.Direction.PUT) {
      builder.putHeader("Content-Length", "0");
      Optional.ofNullable(checksum)
          .ifPresent(c -> builder.putHeader(c.header(), lease.checksum(c, lease.length())));
    } else {
      lease.mark();
      builder.putHeader("x-amz-checksum-mode", "ENABLED");
    }
    return builder.build();
  }
}
