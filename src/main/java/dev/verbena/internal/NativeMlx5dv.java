package dev.verbena.internal;

import static dev.verbena.internal.ErrorConvention.ERRNO;
import static dev.verbena.internal.ErrorConvention.NEVER;
import static dev.verbena.internal.ErrorConvention.NULL;

/** The functions of {@link Mlx5dv} in C. NativeFunctionsTest generates this class. */
final class NativeMlx5dv extends NativeFunctions implements Mlx5dv {
  NativeMlx5dv(Library library) {
    super(library);
  }

  /** Loads the library. */
  static Library library() {
    return Library.of("libmlx5.so.1", "ibverbs-providers", "mlx5dv_is_supported");
  }

  @Override
  public boolean mlx5dv_is_supported(long device) {
    return 0 != (byte) symbolOfObject("mlx5dv_is_supported", 22, NEVER, device);
  }

  @Override
  public void mlx5dv_init_obj(long obj, long objType) {
    symbolOfObject("mlx5dv_init_obj", 0, ERRNO, obj, objType);
  }

  @Override
  public void mlx5dv_query_device(long context, long attrs) {
    symbolOfObject("mlx5dv_query_device", 0, ERRNO, context, attrs);
  }

  @Override
  public long mlx5dv_create_qp(long context, long attrEx, long mlx5Attr) {
    return symbolOfObject("mlx5dv_create_qp", 17, NULL, context, attrEx, mlx5Attr);
  }

  @Override
  public long mlx5dv_qp_ex_from_ibv_qp_ex(long qp) {
    return symbolOfObject("mlx5dv_qp_ex_from_ibv_qp_ex", 24, NEVER, qp);
  }
}
