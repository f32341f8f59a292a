package dev.verbena.values;

import dev.verbena.address.AddressVector;
import dev.verbena.internal.Ranges;
import java.util.Objects;

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
}
