package dev.verbena.mlx5;

/** The structs of mlx5dv.h that this package uses: offsets and sizes on all architectures. */
final class Mlx5Structs {
  /** {@code struct mlx5dv_context}. */
  static final class DeviceAttr {
    /** That of rdma-core 65. The library writes only fields that it knows and is asked for. */
    static final int SIZE = 200;

    static final int COMP_MASK = 16;
    static final int MAX_DC_RD_ATOM = 152;
    static final int MAX_DC_INIT_RD_ATOM = 160;

    /** {@code MLX5DV_CONTEXT_MASK_MAX_DC_RD_ATOM}. */
    static final long MASK_MAX_DC_RD_ATOM = 1 << 14;

    private DeviceAttr() {}
  }

  /** {@code struct mlx5dv_qp_init_attr}. */
  static final class QpInitAttr {
    static final int SIZE = 40;
    static final int COMP_MASK = 0;
    static final int DC_TYPE = 16;
    static final int DCT_ACCESS_KEY = 24;

    /** {@code MLX5DV_QP_INIT_ATTR_MASK_DC}. */
    static final long MASK_DC = 1 << 1;

    /** {@code MLX5DV_DCTYPE_DCT}. */
    static final int DCT = 1;

    /** {@code MLX5DV_DCTYPE_DCI}. */
    static final int DCI = 2;

    private QpInitAttr() {}
  }

  private Mlx5Structs() {}
}
