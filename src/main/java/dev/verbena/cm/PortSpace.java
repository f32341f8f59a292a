package dev.verbena.cm;

import dev.verbena.raw.rdma_h;
import java.util.Arrays;
import java.util.Optional;

/**
 * The port space of an identifier, which determines the kind of service: {@code enum
 * rdma_port_space}.
 */
public enum PortSpace {
  /** Reliable connections. */
  TCP(rdma_h.RDMA_PS_TCP()),
  /** Unreliable datagrams and multicast. */
  UDP(rdma_h.RDMA_PS_UDP()),
  /** Datagrams and multicast groups shared with IP over InfiniBand. */
  IPOIB(rdma_h.RDMA_PS_IPOIB()),
  /** InfiniBand service identifiers of any kind. */
  IB(rdma_h.RDMA_PS_IB());

  private final int code;

  PortSpace(int code) {
    this.code = code;
  }

  int code() {
    return code;
  }

  static PortSpace of(int code) {
    return find(code)
        .orElseThrow(
            () ->
                new IllegalArgumentException("unknown port space 0x" + Integer.toHexString(code)));
  }

  static Optional<PortSpace> find(int code) {
    return Arrays.stream(values()).filter(space -> space.code == code).findFirst();
  }
}
