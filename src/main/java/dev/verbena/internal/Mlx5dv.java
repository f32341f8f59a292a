package dev.verbena.internal;

import static dev.verbena.internal.ErrorConvention.ERRNO;
import static dev.verbena.internal.ErrorConvention.NEVER;
import static dev.verbena.internal.ErrorConvention.NULL;

/** The functions of mlx5dv.h, which the provider library of mlx5 exports. */
@SharedLibrary(
    soname = "libmlx5.so.1",
    packages = "ibverbs-providers",
    anchor = "mlx5dv_is_supported")
public interface Mlx5dv {
  /** Returns whether libmlx5 is the provider of an {@code ibv_device}. */
  @Symbol(fails = NEVER, since = 22)
  boolean mlx5dv_is_supported(long device);

  /** Fills structs that tell where the queues of objects are. */
  @Symbol(fails = ERRNO)
  void mlx5dv_init_obj(long obj, long objType);

  /** Fills those fields of a {@code struct mlx5dv_context} that its {@code comp_mask} asks for. */
  @Symbol(fails = ERRNO)
  void mlx5dv_query_device(long context, long attrs);

  @Symbol(fails = NULL, since = 17)
  long mlx5dv_create_qp(long context, long attrEx, long mlx5Attr);

  @Symbol(fails = NEVER, since = 24)
  long mlx5dv_qp_ex_from_ibv_qp_ex(long qp);
}
