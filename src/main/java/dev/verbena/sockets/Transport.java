package dev.verbena.sockets;

import java.util.Arrays;
import java.util.Locale;
import java.util.Optional;

/** Which transports a rule permits. */
enum Transport {
  /** Connections by RDMA, or by TCP if there is none by RDMA; listeners by RDMA. */
  RDMA,
  /** RDMA, never TCP. */
  RDMA_ONLY,
  /** TCP. */
  TCP,
  /** Connections as {@link #RDMA}; listeners by both, as far as the address has them. */
  BOTH;

  /** Returns the transport of a word in a rule. */
  static Optional<Transport> of(String word) {
    return Arrays.stream(values()).filter(value -> value.word().equals(word)).findFirst();
  }

  /** Returns the word in a rule. */
  String word() {
    return name().toLowerCase(Locale.ROOT).replace('_', '-');
  }
}
