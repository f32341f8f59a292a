package dev.verbena.internal;

import dev.verbena.Errno;
import dev.verbena.VerbsException;
import dev.verbena.raw.rdma_h;
import java.io.Serial;

/** The failure of {@code ibv_rereg_mr}, and what its code says of the region. */
public final class ReregistrationFailure extends RuntimeException {
  @Serial private static final long serialVersionUID = 1;

  /** The state of the region. */
  public enum Region {
    UNCHANGED,
    CHANGED,
    /** The device may use the old memory or the new one. The region must be closed. */
    UNUSABLE
  }

  private final Region region;

  public ReregistrationFailure(String function, int code, int errno) {
    super(new VerbsException(function, errno == 0 ? Errno.EIO : errno, text(code)));
    this.region = region(code);
  }

  /** Returns the state of the region after an exception. */
  public static Region region(RuntimeException thrown) {
    return thrown instanceof ReregistrationFailure failure ? failure.region : Region.UNUSABLE;
  }

  /** Returns the exception for the program: of the call, if this one describes it. */
  public static RuntimeException unwrap(RuntimeException thrown) {
    return thrown instanceof ReregistrationFailure failure
        ? (VerbsException) failure.getCause()
        : thrown;
  }

  /** See {@code ibv_rereg_mr(3)}. */
  private static Region region(int code) {
    if (code == rdma_h.IBV_REREG_MR_ERR_INPUT()
        || code == rdma_h.IBV_REREG_MR_ERR_DONT_FORK_NEW()) {
      return Region.UNCHANGED;
    }
    return code == rdma_h.IBV_REREG_MR_ERR_DO_FORK_OLD() ? Region.CHANGED : Region.UNUSABLE;
  }

  private static String text(int code) {
    if (code == rdma_h.IBV_REREG_MR_ERR_INPUT()) {
      return "an argument is invalid, the region is unchanged";
    } else if (code == rdma_h.IBV_REREG_MR_ERR_DONT_FORK_NEW()) {
      return "the new memory cannot be kept from child processes, the region is unchanged";
    } else if (code == rdma_h.IBV_REREG_MR_ERR_DO_FORK_OLD()) {
      return "the region is changed, but child processes still do not see the old memory";
    } else if (code == rdma_h.IBV_REREG_MR_ERR_CMD()) {
      return "the kernel failed, and the region must not be used any more";
    } else if (code == rdma_h.IBV_REREG_MR_ERR_CMD_AND_DO_FORK_NEW()) {
      return "the kernel failed, the region must not be used any more, and child processes do not"
          + " see the new memory";
    }
    return "code " + code;
  }
}
