/**
 * Raw packets: whole Ethernet frames to and from memory, past the operating system.
 *
 * <p>{@link dev.verbena.packet.PacketPort} opens a port of a device with all that it takes, {@link
 * dev.verbena.packet.PacketBuffers} is where packets are kept. Both are made of objects of {@code
 * dev.verbena.verbs}, and give them out.
 */
package dev.verbena.packet;
