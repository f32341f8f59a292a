package dev.verbena.verbs;

import dev.verbena.RdmaException;
import dev.verbena.values.CompletionStatus;
import java.io.Serial;

/**
 * A failed work request: its {@code wr_id}, its queue pair number (QPN), and the status and vendor
 * error of its work completion.
 *
 * <p>The classes that poll completions themselves throw it, such as {@code Connection}. A program
 * that polls creates it from a completion:
 *
 * {@snippet :
 * if (!completions.isSuccess(i)) {
 *   throw new WorkRequestException("sending", completions, i);
 * }
 * }
 *
 * <p>After a failed request the queue pair is in state ERR, and all its other requests complete
 * with {@link CompletionStatus#WR_FLUSH_ERR}. The first other status has the cause.
 */
public final class WorkRequestException extends RdmaException {
  @Serial private static final long serialVersionUID = 1;

  /** The {@code wr_id}. */
  private final long id;

  /** The number of the local queue pair. */
  private final int queuePairNumber;

  /** The status. */
  private final CompletionStatus status;

  /** The value of {@code enum ibv_wc_status}. */
  private final int statusCode;

  /** The vendor error. */
  private final int vendorError;

  /** The completion in words. */
  private final String description;

  /**
   * Creates the exception of a work completion.
   *
   * @param doing the failed operation, such as {@code sending}
   * @param completions the polled completions
   * @param index the index of the failed completion
   */
  public WorkRequestException(String doing, Completions completions, int index) {
    super(doing + ": " + completions.describe(index));
    this.id = completions.id(index);
    this.queuePairNumber = completions.queuePairNumber(index);
    this.status = completions.status(index);
    this.statusCode = completions.statusCode(index);
    this.vendorError = completions.vendorError(index);
    this.description = completions.describe(index);
  }

  /**
   * Creates the exception of another operation, which a failed work request prevents.
   *
   * @param doing the other operation
   * @param cause the failure of the work request
   */
  public WorkRequestException(String doing, WorkRequestException cause) {
    super(doing + ": " + cause.description, cause);
    this.id = cause.id;
    this.queuePairNumber = cause.queuePairNumber;
    this.status = cause.status;
    this.statusCode = cause.statusCode;
    this.vendorError = cause.vendorError;
    this.description = cause.description;
  }

  /**
   * Returns the {@code wr_id} of the work request.
   *
   * @return the id
   */
  public long id() {
    return id;
  }

  /**
   * Returns the number of the local queue pair.
   *
   * @return the QPN
   */
  public int queuePairNumber() {
    return queuePairNumber;
  }

  /**
   * Returns the status of the work completion.
   *
   * @return the status, which is not {@link CompletionStatus#SUCCESS}
   */
  public CompletionStatus status() {
    return status;
  }

  /**
   * Returns the code of the status, also of one that this library does not know.
   *
   * @return a value of {@code enum ibv_wc_status}
   */
  public int statusCode() {
    return statusCode;
  }

  /** {@return the vendor-specific error code} */
  public int vendorError() {
    return vendorError;
  }

  /**
   * Returns whether the request may succeed on a new connection.
   *
   * @return true if the peer did not answer or receive in time, or the request was flushed; false
   *     if the request itself was wrong
   */
  @Override
  public boolean isTransient() {
    return switch (status) {
      case RETRY_EXC_ERR, RNR_RETRY_EXC_ERR, RESP_TIMEOUT_ERR, WR_FLUSH_ERR, REM_ABORT_ERR -> true;
      default -> false;
    };
  }
}
