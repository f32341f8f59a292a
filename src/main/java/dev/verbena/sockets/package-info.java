/**
 * Socket channels and selectors over RDMA: a {@link java.nio.channels.spi.SelectorProvider} by the
 * protocol of rsockets, for programs that use NIO.
 *
 * <p>{@link dev.verbena.sockets.RdmaSelectorProvider} opens channels and selectors; {@link
 * dev.verbena.sockets.RdmaSocketChannel} describes what differs from TCP; {@link
 * dev.verbena.sockets.RdmaSocketOptions} has the options that TCP lacks.
 */
@NullMarked
package dev.verbena.sockets;

import org.jspecify.annotations.NullMarked;
