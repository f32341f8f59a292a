package dev.verbena.s3;

/**
 * What became of the calls to an endpoint that could go by RDMA: PutObject, UploadPart and
 * GetObject.
 */
public enum S3Counter {
  /** Objects and parts that the server read by RDMA. */
  PUT,
  /** Their bytes. */
  PUT_BYTES,
  /** Ranges that the server wrote by RDMA. */
  GET,
  /** Their bytes. */
  GET_BYTES,
  /** Calls by HTTP because they have less than {@code minBytes}. */
  BELOW_THRESHOLD,
  /** Calls by HTTP because they have more than {@code maxBytes}. */
  OVERSIZE,
  /** Calls by HTTP because their size is not known before the response. */
  UNBOUNDED,
  /**
   * Calls by HTTP for another reason that the call has: an encrypted endpoint or object without the
   * setting that allows it, a {@code Content-MD5}, a checksum that is not computed here, a client
   * that never repeats a call or has an interceptor that changes bodies, a condition for a PUT
   * before the server has shown that it knows tokens.
   */
  UNSUITED,
  /** Calls by HTTP because others had all registered memory. */
  NO_BUFFER,
  /** Calls by HTTP because the endpoint declined, or no device was usable, shortly before. */
  PAUSED,
  /** Attempts that the server declined. */
  DECLINED_BY_SERVER,
  /** Attempts for which this host had no usable device. */
  DECLINED_BY_DEVICE,
  /** Attempts whose token the server ignored. */
  IGNORED,
  /** Attempts that ended without a response, or with an error of the server. */
  FAILED,
  /** Attempts whose response contradicts the request or the data. */
  PROTOCOL_ERRORS,
  /** Attempts by HTTP after one by RDMA. */
  REPEATED,
  /** Buffers that were deregistered because the server might still have used them. */
  DISCARDED,
  /** Buffers that were registered. */
  REGISTRATIONS
}
