/**
 * RDMA devices in software: plain Java, without libibverbs, kernel module or privilege.
 *
 * <ul>
 *   <li>Two connected hosts for a unit test: {@link dev.verbena.soft.SoftHosts}.
 *   <li>Networks of devices, in this JVM or over UDP: {@link dev.verbena.soft.SoftNetwork}.
 *   <li>Lost packets, failing calls, hosts that stop: {@link dev.verbena.soft.Faults}.
 *   <li>A run in virtual time that a seed repeats: {@link dev.verbena.soft.Simulation}.
 *   <li>Packets of a capture file as text: {@link dev.verbena.soft.CaptureFile}.
 * </ul>
 */
@NullMarked
package dev.verbena.soft;

import org.jspecify.annotations.NullMarked;
