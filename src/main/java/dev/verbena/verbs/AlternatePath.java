package dev.verbena.verbs;

import java.util.Objects;

/**
 * The path that a connection changes to when its first one fails.
 *
 * @param path the path, with the port it leaves from
 * @param pkeyIndex the partition, as a place in that port's table
 * @param timeout how long to wait for an acknowledgement: n, for 4.096 microseconds times 2 to the
 *     power of n; 0 for ever
 */
public record AlternatePath(AddressVector path, int pkeyIndex, int timeout) {
  /** Checks that each number fits its field. */
  public AlternatePath {
    Objects.requireNonNull(path, "path");
    Ranges.bits(pkeyIndex, Short.SIZE, "a P_Key index");
    Ranges.bits(timeout, 5, "a timeout");
  }
}
