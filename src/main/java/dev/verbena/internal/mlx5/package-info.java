/**
 * A data path in Java for the queues of mlx5 (NVIDIA ConnectX): writes work queue entries and
 * doorbells and reads completion queue entries as libmlx5 does, without a native call. The layouts
 * are those of the Mellanox Adapters Programmer's Reference Manual (PRM) and of {@code
 * <infiniband/mlx5dv.h>}.
 */
@NullMarked
package dev.verbena.internal.mlx5;

import org.jspecify.annotations.NullMarked;
