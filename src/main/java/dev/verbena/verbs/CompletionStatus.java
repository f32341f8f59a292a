package dev.verbena.verbs;

import dev.verbena.raw.rdma_h;
import java.util.Arrays;

/** How a work request ended: {@code enum ibv_wc_status}. */
public enum CompletionStatus implements Codes.Code {
  /** It was done. */
  SUCCESS(rdma_h.IBV_WC_SUCCESS(), "success", ""),
  /** The message is longer than the receive, or than the port may send. */
  LOC_LEN_ERR(
      rdma_h.IBV_WC_LOC_LEN_ERR(), "local length error", "post receives as long as the messages"),
  /** The queue pair could not do it, though the request is of this side. */
  LOC_QP_OP_ERR(
      rdma_h.IBV_WC_LOC_QP_OP_ERR(),
      "local QP operation error",
      "for a request that was sent: does the queue pair allow the operation, with enough"
          + " outstanding reads and atomics? For a receive on Soft-RoCE: is it as long as the"
          + " message, and is its region open, with LOCAL_WRITE?"),
  /** The end-to-end context failed; of a service that nothing implements. */
  LOC_EEC_OP_ERR(rdma_h.IBV_WC_LOC_EEC_OP_ERR(), "local EE context operation error", ""),
  /** An entry does not lie in the memory region of its key, or the region lacks the right. */
  LOC_PROT_ERR(
      rdma_h.IBV_WC_LOC_PROT_ERR(),
      "local protection error",
      "is the region open, of this domain, and with LOCAL_WRITE where the device writes?"),
  /** It was still queued when the queue pair went into the error state. */
  WR_FLUSH_ERR(
      rdma_h.IBV_WC_WR_FLUSH_ERR(),
      "Work Request Flushed Error",
      "an earlier completion of the queue pair, perhaps on its other completion queue, has the"
          + " cause; if there is none, the connection was ended, the peer or this side set state"
          + " IBV_QPS_ERR, or an asynchronous event such as IBV_EVENT_QP_FATAL tells"),
  /** A memory window could not be bound. */
  MW_BIND_ERR(
      rdma_h.IBV_WC_MW_BIND_ERR(),
      "memory management operation error",
      "are window and region of this domain, and may windows be bound to the region?"),
  /** The peer answered with something else than was asked for. */
  BAD_RESP_ERR(rdma_h.IBV_WC_BAD_RESP_ERR(), "bad response error", ""),
  /** A write with immediate data met a protection error on this side. */
  LOC_ACCESS_ERR(rdma_h.IBV_WC_LOC_ACCESS_ERR(), "local access error", ""),
  /** The peer found the request invalid. */
  REM_INV_REQ_ERR(
      rdma_h.IBV_WC_REM_INV_REQ_ERR(),
      "remote invalid request error",
      "is the peer's receive long enough, and does its queue pair allow the operation?"),
  /** The peer's memory region does not allow it. */
  REM_ACCESS_ERR(
      rdma_h.IBV_WC_REM_ACCESS_ERR(),
      "remote access error",
      "remote address, rkey, or the access flags of the peer's region or queue pair are wrong"),
  /** The peer could not do it. */
  REM_OP_ERR(
      rdma_h.IBV_WC_REM_OP_ERR(), "remote operation error", "the peer's completions say why"),
  /** The peer did not acknowledge. */
  RETRY_EXC_ERR(
      rdma_h.IBV_WC_RETRY_EXC_ERR(),
      "transport retry counter exceeded",
      "is the peer alive, in RTR or RTS, and connected to this queue pair's number?"),
  /** The peer never had a receive posted. */
  RNR_RETRY_EXC_ERR(
      rdma_h.IBV_WC_RNR_RETRY_EXC_ERR(),
      "RNR retry counter exceeded",
      "the peer must post receives in time, or the RNR retry count be 7, for ever"),
  /** Reliable datagram domains differ. */
  LOC_RDD_VIOL_ERR(rdma_h.IBV_WC_LOC_RDD_VIOL_ERR(), "local RDD violation error", ""),
  /** A reliable datagram request is invalid. */
  REM_INV_RD_REQ_ERR(rdma_h.IBV_WC_REM_INV_RD_REQ_ERR(), "remote invalid RD request", ""),
  /** The peer gave up. */
  REM_ABORT_ERR(rdma_h.IBV_WC_REM_ABORT_ERR(), "aborted error", ""),
  /** No such end-to-end context. */
  INV_EECN_ERR(rdma_h.IBV_WC_INV_EECN_ERR(), "invalid EE context number", ""),
  /** The end-to-end context's state does not allow it. */
  INV_EEC_STATE_ERR(rdma_h.IBV_WC_INV_EEC_STATE_ERR(), "invalid EE context state", ""),
  /** The device or its driver must be restarted. */
  FATAL_ERR(rdma_h.IBV_WC_FATAL_ERR(), "fatal error", ""),
  /** The answer did not come in time. */
  RESP_TIMEOUT_ERR(rdma_h.IBV_WC_RESP_TIMEOUT_ERR(), "response timeout error", ""),
  /** None of the other errors; the vendor's error code may say more. */
  GENERAL_ERR(rdma_h.IBV_WC_GENERAL_ERR(), "general error", ""),
  /** A tag could not be matched. */
  TM_ERR(rdma_h.IBV_WC_TM_ERR(), "TM error", ""),
  /** A matched tag's data must be fetched by software. */
  TM_RNDV_INCOMPLETE(rdma_h.IBV_WC_TM_RNDV_INCOMPLETE(), "TM software rendezvous", ""),
  /** A status that is newer than this library. */
  UNKNOWN(-1, "unknown", "");

  private static final CompletionStatus[] BY_CODE =
      Arrays.copyOf(values(), values().length - 1); // Declared in C's order, which has no gaps.

  private final int code;
  private final String text;
  private final String advice;

  CompletionStatus(int code, String text, String advice) {
    this.code = code;
    this.text = text;
    this.advice = advice;
  }

  /**
   * The status with a number; allocates nothing.
   *
   * @param code a number of C
   * @return the status, {@link #UNKNOWN} if the number is newer than this library
   */
  public static CompletionStatus of(int code) {
    return code >= 0 && code < BY_CODE.length ? BY_CODE[code] : UNKNOWN;
  }

  @Override
  public int code() {
    return code;
  }

  /**
   * The status in rdma-core's words: {@code ibv_wc_status_str}.
   *
   * @return a short text
   */
  public String text() {
    return text;
  }

  /**
   * What usually causes the error.
   *
   * @return what to look at; empty where there is nothing to advise
   */
  public String advice() {
    return advice;
  }
}
