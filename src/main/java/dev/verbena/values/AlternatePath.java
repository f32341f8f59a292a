package dev.verbena.values;

import dev.verbena.address.AddressVector;
import dev.verbena.internal.Ranges;
import dev.verbena.raw.ibv_qp_attr;
import java.lang.foreign.MemorySegment;
import java.util.Objects;
import java.util.Optional;

/**
 * An alternate path for automatic path migration (APM): the path that a connection migrates to when
 * its primary path fails ({@code alt_ah_attr} and others of {@code struct ibv_qp_attr}).
 *
 * @param path the address vector, with the local port
 * @param pkeyIndex the index of the partition in the P_Key table of that port
 * @param timeout the local ACK timeout on this path
 */
public record AlternatePath(AddressVector path, int pkeyIndex, AckTimeout timeout) {
  /**
   * Creates an alternate path.
   *
   * @throws IllegalArgumentException if the P_Key index does not fit into 16 bits
   */
  public AlternatePath {
    Objects.requireNonNull(path, "path");
    Ranges.bits(pkeyIndex, Short.SIZE, "a P_Key index");
    Objects.requireNonNull(timeout, "timeout");
  }

  /** Writes the path into a {@code struct ibv_qp_attr}. */
  void writeTo(MemorySegment attributes) {
    path.writeTo(ibv_qp_attr.alt_ah_attr(attributes));
    ibv_qp_attr.alt_port_num(attributes, (byte) path.port());
    ibv_qp_attr.alt_pkey_index(attributes, (short) pkeyIndex);
    ibv_qp_attr.alt_timeout(attributes, (byte) timeout.code());
  }

  /** Returns the path of a {@code struct ibv_qp_attr}; empty if there is none. */
  static Optional<AlternatePath> readFrom(MemorySegment attributes) {
    int pkeyIndex = Short.toUnsignedInt(ibv_qp_attr.alt_pkey_index(attributes));
    AckTimeout timeout = AckTimeout.ofCode(ibv_qp_attr.alt_timeout(attributes) & 0x1f);
    return AddressVector.readFrom(ibv_qp_attr.alt_ah_attr(attributes))
        .map(path -> new AlternatePath(path, pkeyIndex, timeout));
  }
}
