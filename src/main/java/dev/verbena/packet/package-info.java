/**
 * Raw packets: sends and receives whole Ethernet frames, bypassing the network stack of the kernel.
 *
 * <p>{@link dev.verbena.packet.PacketPort} opens a port of a device and creates the objects that it
 * needs; {@link dev.verbena.packet.PacketBuffers} is the memory of packets. Both give access to
 * their objects of {@code dev.verbena.verbs}.
 */
@NullMarked
package dev.verbena.packet;

import org.jspecify.annotations.NullMarked;
