package dev.verbena.values;

import dev.verbena.NativeConstant;
import dev.verbena.raw.rdma_h;
import java.util.Arrays;

/** The status of a work completion: {@code enum ibv_wc_status}. */
public enum CompletionStatus implements NativeConstant {
  /** The work request completed successfully. */
  SUCCESS(rdma_h.IBV_WC_SUCCESS(), "success", ""),
  /**
   * Local length error: the message is longer than the receive buffer, or than the maximum message
   * size.
   */
  LOC_LEN_ERR(
      rdma_h.IBV_WC_LOC_LEN_ERR(), "local length error", "post receives as long as the messages"),
  /**
   * Local queue pair operation error: an internal inconsistency of the queue pair or of a local
   * work request.
   */
  LOC_QP_OP_ERR(
      rdma_h.IBV_WC_LOC_QP_OP_ERR(),
      "local QP operation error",
      "send request: does the queue pair allow the operation, with enough"
          + " outstanding reads and atomics? Receive request on Soft-RoCE: is it as long as the"
          + " message, and is its region open, with LOCAL_WRITE?"),
  /** Local end-to-end context operation error; no provider implements end-to-end contexts. */
  LOC_EEC_OP_ERR(rdma_h.IBV_WC_LOC_EEC_OP_ERR(), "local EE context operation error", ""),
  /**
   * Local protection error: an SGE is not inside the memory region of its local key, or the region
   * does not allow the access.
   */
  LOC_PROT_ERR(
      rdma_h.IBV_WC_LOC_PROT_ERR(),
      "local protection error",
      "is the region open, of this domain, and with LOCAL_WRITE where the device writes?"),
  /** The work request was outstanding when the queue pair entered state ERR. */
  WR_FLUSH_ERR(
      rdma_h.IBV_WC_WR_FLUSH_ERR(),
      "Work Request Flushed Error",
      "an earlier completion of the queue pair, perhaps on its other completion queue, has the"
          + " cause; if there is none, the connection was ended, the peer or this side set state"
          + " IBV_QPS_ERR, or see the asynchronous events, such as IBV_EVENT_QP_FATAL"),
  /** A memory window could not be bound. */
  MW_BIND_ERR(
      rdma_h.IBV_WC_MW_BIND_ERR(),
      "memory management operation error",
      "are window and region of this domain, and may windows be bound to the region?"),
  /** The remote side returned an unexpected response. */
  BAD_RESP_ERR(
      rdma_h.IBV_WC_BAD_RESP_ERR(), "bad response error", "do both ends have the same path MTU?"),
  /** An RDMA write with immediate data caused a protection error on the local side. */
  LOC_ACCESS_ERR(rdma_h.IBV_WC_LOC_ACCESS_ERR(), "local access error", ""),
  /** The remote side received an invalid request. */
  REM_INV_REQ_ERR(
      rdma_h.IBV_WC_REM_INV_REQ_ERR(),
      "remote invalid request error",
      "do both ends have the same path MTU, does the peer's queue pair allow the operation, and is"
          + " its receive as long as the message?"),
  /** The remote memory region does not allow the access. */
  REM_ACCESS_ERR(
      rdma_h.IBV_WC_REM_ACCESS_ERR(),
      "remote access error",
      "remote address, rkey, or the access flags of the peer's region or queue pair are wrong, or"
          + " the region was closed"),
  /** The remote side could not complete the operation. */
  REM_OP_ERR(
      rdma_h.IBV_WC_REM_OP_ERR(),
      "remote operation error",
      "see the completions of the remote side"),
  /** The remote side did not acknowledge within the retry count. */
  RETRY_EXC_ERR(
      rdma_h.IBV_WC_RETRY_EXC_ERR(),
      "transport retry counter exceeded",
      "has the peer ended, or closed its queue pair? Is the remote queue pair in RTR or RTS and"
          + " connected to this queue pair's QPN, with this queue pair's first PSN as the one that"
          + " it expects? Can the network carry packets of the path MTU?"),
  /** The remote side had no receive request posted within the RNR retry count. */
  RNR_RETRY_EXC_ERR(
      rdma_h.IBV_WC_RNR_RETRY_EXC_ERR(),
      "RNR retry counter exceeded",
      "the remote side must post receive requests in time; RNR retry count 7 is unlimited"),
  /** Local reliable datagram domain violation. */
  LOC_RDD_VIOL_ERR(rdma_h.IBV_WC_LOC_RDD_VIOL_ERR(), "local RDD violation error", ""),
  /** Invalid reliable datagram request. */
  REM_INV_RD_REQ_ERR(rdma_h.IBV_WC_REM_INV_RD_REQ_ERR(), "remote invalid RD request", ""),
  /** The remote side aborted the operation. */
  REM_ABORT_ERR(rdma_h.IBV_WC_REM_ABORT_ERR(), "aborted error", ""),
  /** Invalid end-to-end context number. */
  INV_EECN_ERR(rdma_h.IBV_WC_INV_EECN_ERR(), "invalid EE context number", ""),
  /** Invalid end-to-end context state. */
  INV_EEC_STATE_ERR(rdma_h.IBV_WC_INV_EEC_STATE_ERR(), "invalid EE context state", ""),
  /** Fatal error: the device or its driver must be restarted. */
  FATAL_ERR(rdma_h.IBV_WC_FATAL_ERR(), "fatal error", ""),
  /** The response timed out. */
  RESP_TIMEOUT_ERR(rdma_h.IBV_WC_RESP_TIMEOUT_ERR(), "response timeout error", ""),
  /** Another error; see the vendor error code. */
  GENERAL_ERR(rdma_h.IBV_WC_GENERAL_ERR(), "general error", ""),
  /** A tag could not be matched. */
  TM_ERR(rdma_h.IBV_WC_TM_ERR(), "TM error", ""),
  /** The data of a matched tag must be fetched by software (rendezvous). */
  TM_RNDV_INCOMPLETE(rdma_h.IBV_WC_TM_RNDV_INCOMPLETE(), "TM software rendezvous", ""),
  /** A status that this library does not know. */
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
   * {@return the constant of a code, or {@link #UNKNOWN}; allocates nothing}
   *
   * @param code a value of {@code enum ibv_wc_status}
   */
  public static CompletionStatus of(int code) {
    return code >= 0 && code < BY_CODE.length ? BY_CODE[code] : UNKNOWN;
  }

  @Override
  public int code() {
    return code;
  }

  /** {@return a short description of the status: {@code ibv_wc_status_str}} */
  public String text() {
    return text;
  }

  /** {@return the likely causes of the error and what to check; empty if there is no advice} */
  public String advice() {
    return advice;
  }
}
