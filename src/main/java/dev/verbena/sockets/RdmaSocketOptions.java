package dev.verbena.sockets;

import java.net.SocketOption;

/**
 * The options of RDMA channels beside those of {@link java.net.StandardSocketOptions}, as of {@code
 * rsetsockopt} and {@code rgetsockopt}. They take effect if they are set before a channel is
 * connected; accepted channels have those of the listening channel when it was bound. See
 * rsocket(7).
 */
public final class RdmaSocketOptions {
  /** The number of send work requests that can be outstanding; 384 by default. */
  public static final SocketOption<Integer> RDMA_SQSIZE = new Option("RDMA_SQSIZE");

  /** The number of receive work requests that are posted; 384 by default. */
  public static final SocketOption<Integer> RDMA_RQSIZE = new Option("RDMA_RQSIZE");

  /**
   * The size in bytes up to which data is sent inline, which the provider copies into the work
   * request; 64 by default.
   */
  public static final SocketOption<Integer> RDMA_INLINE = new Option("RDMA_INLINE");

  /**
   * The number of memory areas that the peer can map with {@link RdmaSocketChannel#map}; 0 by
   * default.
   */
  public static final SocketOption<Integer> RDMA_IOMAPSIZE = new Option("RDMA_IOMAPSIZE");

  private record Option(String name) implements SocketOption<Integer> {
    @Override
    public Class<Integer> type() {
      return Integer.class;
    }

    @Override
    public String toString() {
      return name;
    }
  }

  private RdmaSocketOptions() {}
}
