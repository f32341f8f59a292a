package dev.verbena.s3.server;

import static dev.verbena.s3.server.Profile.Treatment.DECLINE;
import static dev.verbena.s3.server.Profile.Treatment.DECLINE_BY_ERROR;
import static dev.verbena.s3.server.Profile.Treatment.IGNORE;
import static dev.verbena.s3.server.Profile.Treatment.INVALID;
import static dev.verbena.s3.server.Profile.Treatment.MOVE;
import static dev.verbena.s3.server.Profile.Treatment.NOT_IMPLEMENTED;

/** How a server treats tokens: the draft specification, servers of vendors, and others. */
public enum Profile {
  /** The draft specification. */
  SPEC(MOVE, MOVE, MOVE, DECLINE),
  /** MinIO AIStor: no reply header for PUT; declines with an error. */
  AISTOR(MOVE, MOVE, MOVE, DECLINE_BY_ERROR),
  /** Ceph RGW: at most 8 MiB; the reply header is 200 for ranges, too; no empty PUT. */
  CEPH(MOVE, MOVE, MOVE, IGNORE),
  /** NooBaa: tokens of exactly 81 characters; cuts the data to the size of the token. */
  NOOBAA(MOVE, MOVE, MOVE, NOT_IMPLEMENTED),
  /** versitygw: no parts; the reply header is 200 for ranges, too. */
  VERSITY(MOVE, NOT_IMPLEMENTED, MOVE, IGNORE),
  /** The test server of elbencho: status 200 for ranges, and a body that is empty and chunked. */
  ELBENCHO(MOVE, MOVE, MOVE, DECLINE_BY_ERROR),
  /** RustFS: refuses GET with a token, and stores the empty body of PUT. */
  RUSTFS(IGNORE, IGNORE, INVALID, IGNORE),
  /** Knows no tokens. */
  IGNORANT(IGNORE, IGNORE, IGNORE, IGNORE),
  /** Knows no tokens, and does not verify checksums. */
  IGNORANT_UNCHECKED(IGNORE, IGNORE, IGNORE, IGNORE),
  /** Declines each token as the draft specification says. */
  DECLINES_IN_SPEC_WAY(DECLINE, DECLINE, DECLINE, DECLINE),
  /** Declines each token with an error. */
  DECLINES_BY_ERROR(DECLINE_BY_ERROR, DECLINE_BY_ERROR, DECLINE_BY_ERROR, DECLINE_BY_ERROR);

  static final String REPLY = "x-amz-rdma-reply";
  static final String BYTES = "x-amz-rdma-bytes-transferred";

  /** What a server does with a token. */
  enum Treatment {
    /** Moves the data. */
    MOVE,
    /** Serves the request as if it had no token. */
    IGNORE,
    /** Reply header 501, with HTTP status 200; for GET with the object in the body. */
    DECLINE,
    /** Reply header 501 and HTTP status 501. */
    DECLINE_BY_ERROR,
    /** HTTP status 501 without a reply header. */
    NOT_IMPLEMENTED,
    /** HTTP status 400. */
    INVALID
  }

  private final Treatment put;
  private final Treatment part;
  private final Treatment get;

  /** Of a server whose RDMA is off, if it moves the data otherwise. */
  private final Treatment off;

  Profile(Treatment put, Treatment part, Treatment get, Treatment off) {
    this.put = put;
    this.part = part;
    this.get = get;
    this.off = off;
  }

  /** Returns MOVE, IGNORE or DECLINE, or throws what the server answers. */
  Treatment treatment(Operation operation, boolean isEnabled) {
    Treatment on =
        switch (operation) {
          case PUT_OBJECT -> put;
          case UPLOAD_PART -> part;
          default -> get;
        };
    Treatment treatment = on == MOVE && !isEnabled ? off : on;
    return switch (treatment) {
      case DECLINE_BY_ERROR -> throw declined(501);
      case NOT_IMPLEMENTED -> throw S3Exception.notImplemented("no RDMA");
      case INVALID -> throw S3Exception.invalid("no RDMA");
      case MOVE, IGNORE, DECLINE -> treatment;
    };
  }

  static S3Exception declined(int status) {
    return new S3Exception(status, "NotImplemented", "RDMA is declined").with(REPLY, "501");
  }

  Token token(String text) {
    if (this == NOOBAA && text.length() != Token.LENGTH) {
      throw badToken("the token has " + text.length() + " characters");
    }
    try {
      return Token.parse(text);
    } catch (IllegalArgumentException e) {
      throw badToken(e.getMessage());
    }
  }

  private S3Exception badToken(String message) {
    return new S3Exception(400, this == NOOBAA ? "S3InvalidRdmaToken" : "InvalidRequest", message);
  }

  void requireSize(long size) {
    if (this == CEPH && size > 8 << 20) {
      throw new S3Exception(503, "ServiceUnavailable", "larger than rgw_cuobj_buffer_size");
    }
  }

  /** {@return the number of bytes to write} */
  int fit(int length, Token token) {
    if (length <= token.size()) {
      return length;
    }
    if (this == NOOBAA || this == ELBENCHO) {
      return (int) token.size();
    }
    String message = length + " bytes are more than the " + token.size() + " of the token";
    throw this == VERSITY ? S3Exception.internal(message) : S3Exception.invalid(message);
  }

  boolean verifiesChecksums() {
    return this != IGNORANT_UNCHECKED;
  }

  void addReply(Operation operation, long bytes, Reply reply) {
    boolean isGet = operation == Operation.GET_OBJECT;
    if ((this == VERSITY && bytes == 0) || (this == AISTOR && !isGet)) {
      return;
    }
    boolean isAlways200 = this == CEPH || this == VERSITY;
    reply.with(REPLY, isAlways200 ? "200" : String.valueOf(reply.status));
    if (isGet || this != SPEC) {
      reply.with(BYTES, String.valueOf(bytes));
    }
    if (this == ELBENCHO && isGet) {
      reply.status = 200;
      reply.isChunked = true;
    }
  }
}
