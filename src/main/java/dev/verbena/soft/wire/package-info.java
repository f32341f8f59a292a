/**
 * Packets of the software device: their headers on the wire, the ICRC, the datagrams of RDMA CM,
 * and the link over UDP. Knows nothing of devices.
 */
@NullMarked
package dev.verbena.soft.wire;

import org.jspecify.annotations.NullMarked;
