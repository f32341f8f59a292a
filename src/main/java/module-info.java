/**
 * RDMA verbs: libibverbs and librdmacm over {@code java.lang.foreign}.
 *
 * <p>{@code dev.verbena.verbs} is where to start. {@code dev.verbena.raw} is C as jextract found
 * it.
 */
module dev.verbena {
  requires static jdk.jfr;
  requires static org.jspecify;

  exports dev.verbena;
  exports dev.verbena.address;
  exports dev.verbena.attributes;
  exports dev.verbena.cm;
  exports dev.verbena.efa;
  exports dev.verbena.flow;
  exports dev.verbena.mlx5;
  exports dev.verbena.packet;
  exports dev.verbena.raw;
  exports dev.verbena.sockets;
  exports dev.verbena.soft;
  exports dev.verbena.util;
  exports dev.verbena.values;
  exports dev.verbena.verbs;

  uses dev.verbena.internal.DirectDataPath;

  provides dev.verbena.internal.DirectDataPath with
      dev.verbena.internal.mlx5.Mlx5DataPath;
}
