package dev.verbena.verbs;

import dev.verbena.Errno;
import dev.verbena.VerbsException;
import dev.verbena.internal.Provider;
import dev.verbena.raw.rdma_h;

/**
 * Whether this process may fork while it has registered memory.
 *
 * <p>A child gets copies of pages that the device keeps using; on kernels before 5.12 it may be the
 * parent that gets the copy. {@link ProcessBuilder} starts processes in a way that is not affected;
 * C code in this process that calls {@code fork} or {@code system} is.
 */
public final class Fork {
  private Fork() {}

  /** How forking is made safe: {@code enum ibv_fork_status}. */
  public enum Status implements Codes.Code {
    /** Not at all. */
    DISABLED(rdma_h.IBV_FORK_DISABLED()),
    /** By {@link Fork#initialize}. */
    ENABLED(rdma_h.IBV_FORK_ENABLED()),
    /** By the kernel, whether initialised or not. */
    UNNEEDED(rdma_h.IBV_FORK_UNNEEDED());

    private final int code;

    Status(int code) {
      this.code = code;
    }

    @Override
    public int code() {
      return code;
    }
  }

  /**
   * Makes forking safe, at the price of a system call for each registration: {@code ibv_fork_init}.
   * To be called before any memory is registered. The environment variables {@code RDMAV_FORK_SAFE}
   * and {@code IBV_FORK_SAFE} do the same.
   *
   * @throws VerbsException EINVAL if memory is registered already
   */
  public static void initialize() {
    initialize(Provider.system());
  }

  static void initialize(Provider provider) {
    try {
      provider.verbs().ibv_fork_init();
    } catch (VerbsException e) {
      throw e.errno() == Errno.EINVAL
          ? e.explained("memory was registered before: initialise before anything else")
          : e;
    }
  }

  /**
   * How forking is made safe: {@code ibv_is_fork_initialized}.
   *
   * @return the status
   * @throws VerbsException ENOSYS if the library is older than rdma-core 35
   */
  public static Status status() {
    return status(Provider.system());
  }

  static Status status(Provider provider) {
    return Codes.of(Status.class, provider.verbs().ibv_is_fork_initialized(), Status.DISABLED);
  }
}
