package dev.verbena.testing;

/** What implements the devices of tests. */
public enum DeviceKind {
  /** Software devices in this JVM. */
  SOFTWARE,

  /** The kernel's driver rdma_rxe. */
  SOFT_ROCE,

  /** libmlx5 over an emulated NIC. */
  MLX5,

  /** libefa over an emulated NIC, which has SRD and UD queue pairs, but neither RC nor RDMA CM. */
  EFA
}
