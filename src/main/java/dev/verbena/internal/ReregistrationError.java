package dev.verbena.internal;

import dev.verbena.Errno;
import dev.verbena.VerbsException;
import dev.verbena.raw.rdma_h;

/** The error codes of {@code ibv_rereg_mr}. */
final class ReregistrationError {
  private ReregistrationError() {}

  static VerbsException failure(String function, int code, int errno) {
    return new VerbsException(function, errno == 0 ? Errno.EIO : errno, text(code));
  }

  private static String text(int code) {
    if (code == rdma_h.IBV_REREG_MR_ERR_INPUT()) {
      return "an argument is invalid, the region is unchanged";
    } else if (code == rdma_h.IBV_REREG_MR_ERR_DONT_FORK_NEW()) {
      return "the new memory cannot be kept from child processes, the region is as before";
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
