/**
 * Packets of the software device: their headers on the wire, the ICRC, the datagrams of RDMA CM,
 * and the link over UDP. Knows nothing of devices.
 */
package dev.verbena.soft.wire;
