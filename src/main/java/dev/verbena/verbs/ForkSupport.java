package dev.verbena.verbs;

import dev.verbena.Errno;
import dev.verbena.NativeConstant;
import dev.verbena.VerbsException;
import dev.verbena.internal.Codes;
import dev.verbena.internal.Explanation;
import dev.verbena.internal.Provider;
import dev.verbena.internal.Providers;
import dev.verbena.raw.rdma_h;

/**
 * Fork support for processes that have registered memory.
 *
 * <p>After a {@code fork} the child gets copies of pages that the device uses; on kernels before
 * 5.12 the parent may get the copy instead. {@link ProcessBuilder} is not affected; C code in this
 * process that calls {@code fork} or {@code system} is. See {@code ibv_fork_init(3)}.
 */
public final class ForkSupport {
  private ForkSupport() {}

  /** The status of fork support: {@code enum ibv_fork_status}. */
  public enum Status implements NativeConstant {
    /** Fork support is disabled. */
    DISABLED(rdma_h.IBV_FORK_DISABLED()),
    /** Fork support was enabled by {@link ForkSupport#initialize}. */
    ENABLED(rdma_h.IBV_FORK_ENABLED()),
    /** The kernel makes fork support unnecessary. */
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
   * Enables fork support: {@code ibv_fork_init}. It costs a system call for each registration. Call
   * it before any memory is registered. The environment variables {@code RDMAV_FORK_SAFE} and
   * {@code IBV_FORK_SAFE} have the same effect.
   *
   * @throws VerbsException EINVAL if memory is already registered
   */
  public static void initialize() {
    initialize(Providers.system());
  }

  static void initialize(Provider provider) {
    try {
      provider.verbs().ibv_fork_init();
    } catch (VerbsException e) {
      throw e.errno() == Errno.EINVAL
          ? Explanation.add(
              e,
              "memory is already registered: call ForkSupport.initialize() before any registration")
          : e;
    }
  }

  /**
   * {@return the status of fork support: {@code ibv_is_fork_initialized}}
   *
   * @throws VerbsException ENOSYS if libibverbs is older than rdma-core 35
   */
  public static Status status() {
    return status(Providers.system());
  }

  static Status status(Provider provider) {
    return Codes.of(Status.class, provider.verbs().ibv_is_fork_initialized(), Status.DISABLED);
  }
}
