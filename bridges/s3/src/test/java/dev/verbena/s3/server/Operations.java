package dev.verbena.s3.server;

import dev.verbena.s3.server.Faults.Plan;
import dev.verbena.s3.server.Profile.Treatment;
import java.util.Arrays;
import java.util.List;
import java.util.Optional;

/** Executes the operations: checks a request, moves its data, stores or selects it. */
final class Operations {
  private static final List<String> FRAMING =
      List.of("content-md5", "x-amz-decoded-content-length", "x-amz-trailer", "transfer-encoding");

  private final Store store;
  private final Optional<Rdma> rdma;
  volatile Profile profile;
  volatile Optional<Mover> mover;
  volatile boolean isRdmaEnabled = true;

  Operations(Store store, Optional<Rdma> rdma, Profile profile) {
    this.store = store;
    this.rdma = rdma;
    mover = rdma.map(Mover.class::cast);
    this.profile = profile;
  }

  Reply answer(S3Request request, byte[] body, Plan plan) {
    Operation operation = request.operation();
    if (operation != Operation.RC_CONNECT && operation != Operation.RC_DISCONNECT) {
      SignatureV4.verify(request, body);
    }
    return switch (operation) {
      case PUT_OBJECT, UPLOAD_PART -> put(request, body, plan);
      case GET_OBJECT -> get(request, plan);
      case HEAD_OBJECT -> store.select(request).reply(request);
      case DELETE_OBJECT -> store.delete(request);
      case CREATE_MULTIPART_UPLOAD -> store.createUpload(request);
      case COMPLETE_MULTIPART_UPLOAD -> store.completeUpload(request, body);
      case ABORT_MULTIPART_UPLOAD -> store.abortUpload(request);
      case LIST_OBJECTS_V2 -> store.list(request);
      case CREATE_BUCKET -> store.createBucket(request);
      case HEAD_BUCKET -> store.headBucket(request);
      case RC_CONNECT -> available(rdma).connections.connect(request);
      case RC_DISCONNECT -> available(rdma).connections.disconnect(request);
      case OTHER -> throw S3Exception.notImplemented(request.method() + " " + request.uri());
    };
  }

  private static <T> T available(Optional<T> part) {
    return part.orElseThrow(() -> S3Exception.notImplemented("the server has no RDMA device"));
  }

  private Treatment treatment(S3Request request) {
    return request.token().isEmpty()
        ? Treatment.IGNORE
        : profile.treatment(request.operation(), isRdmaEnabled && mover.isPresent());
  }

  // PUT

  private Reply put(S3Request request, byte[] body, Plan plan) {
    store.requireBucket(request);
    boolean isPart = request.operation() == Operation.UPLOAD_PART;
    Optional<Upload> upload = isPart ? Optional.of(store.upload(request)) : Optional.empty();
    Treatment treatment = treatment(request);
    if (treatment == Treatment.DECLINE) {
      throw Profile.declined(200);
    }
    Payload payload =
        treatment == Treatment.MOVE ? moved(request, upload) : Payload.of(request, body);
    if (profile.verifiesChecksums()) {
      payload.verify(request);
    }
    plan.failAfterTransfer();
    Reply reply = isPart ? store.putPart(request, payload) : store.put(request, payload);
    if (treatment == Treatment.MOVE) {
      addReply(request, payload.data().length, reply, plan);
    }
    return reply;
  }

  private Payload moved(S3Request request, Optional<Upload> upload) {
    requireUnframed(request);
    Token token = token(request);
    profile.requireSize(token.size());
    if (profile == Profile.CEPH && token.size() == 0) {
      throw S3Exception.invalid("an empty PUT with a token");
    }
    if (profile == Profile.AISTOR
        && upload.flatMap(declared -> declared.algorithm).isPresent()
        && Payload.moved(request, new byte[0]).checksums().isEmpty()) {
      throw Profile.declined(501);
    }
    return Payload.moved(request, available(mover).read(token));
  }

  private static void requireUnframed(S3Request request) {
    if (!request.header("content-length").orElse("").equals("0")) {
      throw S3Exception.invalid("Content-Length is not 0");
    }
    if (!request.header("x-amz-content-sha256").orElse("").equals("UNSIGNED-PAYLOAD")) {
      throw S3Exception.invalid("x-amz-content-sha256 is not UNSIGNED-PAYLOAD");
    }
    for (String name : FRAMING) {
      if (request.header(name).isPresent()) {
        throw S3Exception.invalid("the header " + name + " is not allowed with a token");
      }
    }
    if (request.header("content-encoding").orElse("").contains("aws-chunked")) {
      throw S3Exception.invalid("aws-chunked is not allowed with a token");
    }
  }

  private Token token(S3Request request) {
    String agent = request.header("x-amz-rdma-agent").orElse("cuobj");
    if (profile == Profile.NOOBAA && !agent.equals("cuobj")) {
      throw new S3Exception(400, "S3InvalidRdmaToken", "unknown agent " + agent);
    }
    Token token = profile.token(request.token().orElseThrow());
    Optional<String> start = request.header("x-cuobj-remote-buf-start");
    Optional<String> length = request.header("x-cuobj-content-length");
    return start.isEmpty() || length.isEmpty()
        ? token
        : token.at(Long.parseUnsignedLong(start.get()), Long.parseLong(length.get()));
  }

  // GET

  private Reply get(S3Request request, Plan plan) {
    Treatment treatment = treatment(request);
    Selection selection = store.select(request);
    Reply reply = selection.reply(request);
    if (plan.has(Fault.WRONG_CHECKSUM)) {
      reply.with(ChecksumAlgorithm.CRC32.header(), "AAAAAA==");
    }
    byte[] data = selection.data();
    if (treatment != Treatment.MOVE) {
      plan.failAfterTransfer();
      if (treatment == Treatment.DECLINE) {
        reply.with(Profile.REPLY, "501");
      }
      return reply.body(data);
    }
    profile.requireSize(data.length);
    Token token = token(request);
    byte[] moved = Arrays.copyOf(data, profile.fit(data.length, token));
    if (!plan.has(Fault.NO_WRITE)) {
      available(mover).write(token, written(moved, plan));
    }
    plan.failAfterTransfer();
    addReply(request, moved.length, reply, plan);
    return plan.has(Fault.BODY_WITH_REPLY) ? reply.body(data) : reply;
  }

  private static byte[] written(byte[] data, Plan plan) {
    byte[] written =
        Arrays.copyOf(data, plan.has(Fault.SHORT_WRITE) ? data.length / 2 : data.length);
    if (plan.has(Fault.WRONG_DATA) && written.length > 0) {
      written[written.length / 2] ^= 1;
    }
    return written;
  }

  private void addReply(S3Request request, int bytes, Reply reply, Plan plan) {
    if (plan.has(Fault.NO_REPLY)) {
      return;
    }
    profile.addReply(request.operation(), bytes, reply);
    if (plan.has(Fault.WRONG_BYTE_COUNT)) {
      reply.with(Profile.BYTES, String.valueOf(bytes == 0 ? 1 : bytes - 1));
    }
  }
}
