package dev.verbena.s3.server;

import static java.nio.charset.StandardCharsets.UTF_8;

import java.security.GeneralSecurityException;
import java.security.MessageDigest;
import java.util.HexFormat;
import java.util.List;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Collectors;
import javax.crypto.Mac;
import javax.crypto.spec.SecretKeySpec;

/**
 * Verifies signatures of version 4 in the Authorization header. Those in the query string, of
 * presigned URLs, and those of chunks are accepted unverified.
 */
final class SignatureV4 {
  private static final Pattern AUTHORIZATION =
      Pattern.compile(
          "AWS4-HMAC-SHA256 Credential=([^/]+)/((\\d{8})/([^/]+)/s3/aws4_request), ?"
              + "SignedHeaders=([^,]+), ?Signature=([0-9a-f]{64})");
  private static final String UNSIGNED = "UNSIGNED-PAYLOAD";

  private SignatureV4() {}

  static void verify(S3Request request, byte[] body) {
    if (!request.query().containsKey("X-Amz-Signature")) {
      verifyHeader(request, body);
    }
    if (request.header(S3Request.TOKEN).isPresent()
        && !request.signedHeaders().contains(S3Request.TOKEN)) {
      throw denied("AccessDenied", S3Request.TOKEN + " is not a signed header");
    }
  }

  private static void verifyHeader(S3Request request, byte[] body) {
    Matcher parts = AUTHORIZATION.matcher(request.header("authorization").orElse(""));
    if (!parts.matches()) {
      throw denied("AccessDenied", "the request is not signed");
    }
    if (!parts.group(1).equals(S3Server.ACCESS_KEY)) {
      throw denied("InvalidAccessKeyId", "unknown access key " + parts.group(1));
    }
    List<String> signed = request.signedHeaders();
    if (!signed.contains("host")) {
      throw denied("AccessDenied", "host is not a signed header");
    }
    String hash = required(request, "x-amz-content-sha256");
    if (hash.matches("[0-9a-f]{64}")) {
      if (!hash.equals(hex(sha256(body)))) {
        throw new S3Exception(
            400, "XAmzContentSHA256Mismatch", "x-amz-content-sha256 is not that of the body");
      }
    } else if (!hash.equals(UNSIGNED) && !request.isAwsChunked()) {
      throw S3Exception.invalid("x-amz-content-sha256 is not valid: " + hash);
    }
    String canonical = canonical(request, signed, hash);
    String text =
        String.join(
            "\n",
            "AWS4-HMAC-SHA256",
            required(request, "x-amz-date"),
            parts.group(2),
            hex(sha256(canonical.getBytes(UTF_8))));
    byte[] key = ("AWS4" + S3Server.SECRET_KEY).getBytes(UTF_8);
    for (String step : List.of(parts.group(3), parts.group(4), "s3", "aws4_request", text)) {
      key = hmac(key, step);
    }
    if (!hex(key).equals(parts.group(6))) {
      throw denied("SignatureDoesNotMatch", "the canonical request is:\n" + canonical);
    }
  }

  private static String canonical(S3Request request, List<String> signed, String hash) {
    String query =
        S3Request.rawQuery(request.uri()).stream()
            .map(pair -> pair.contains("=") ? pair : pair + "=")
            .sorted()
            .collect(Collectors.joining("&"));
    String headers =
        signed.stream()
            .map(name -> name + ":" + trimmed(required(request, name)) + "\n")
            .collect(Collectors.joining());
    return String.join(
        "\n",
        request.method(),
        request.uri().getRawPath(),
        query,
        headers,
        String.join(";", signed),
        hash);
  }

  private static String trimmed(String value) {
    return value.strip().replaceAll(" +", " ");
  }

  private static String required(S3Request request, String name) {
    return request
        .header(name)
        .orElseThrow(() -> denied("AccessDenied", "the header " + name + " is missing"));
  }

  private static S3Exception denied(String code, String message) {
    return new S3Exception(403, code, message);
  }

  private static String hex(byte[] bytes) {
    return HexFormat.of().formatHex(bytes);
  }

  private static byte[] sha256(byte[] data) {
    try {
      return MessageDigest.getInstance("SHA-256").digest(data);
    } catch (GeneralSecurityException e) {
      throw new AssertionError(e);
    }
  }

  private static byte[] hmac(byte[] key, String text) {
    try {
      Mac mac = Mac.getInstance("HmacSHA256");
      mac.init(new SecretKeySpec(key, "HmacSHA256"));
      return mac.doFinal(text.getBytes(UTF_8));
    } catch (GeneralSecurityException e) {
      throw new AssertionError(e);
    }
  }
}
