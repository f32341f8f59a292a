package dev.verbena.internal;

import static dev.verbena.internal.ErrorConvention.ERRNO;
import static dev.verbena.internal.ErrorConvention.NEVER;

/** The functions of mlx5dv.h, which the provider library of mlx5 exports. */
@SharedLibrary(
    soname = "libmlx5.so.1",
    packages = "ibverbs-providers",
    anchor = "mlx5dv_is_supported")
public interface Mlx5dv {
  /** Returns whether libmlx5 is the provider of an {@code ibv_device}. */
  @Symbol(fails = NEVER)
  boolean mlx5dv_is_supported(long device);

  /** Fills structs that tell where the queues of objects are. */
  @Symbol(fails = ERRNO)
  void mlx5dv_init_obj(long obj, long objType);
}
