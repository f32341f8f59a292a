/**
 * RDMA CM: connections by IP address, over librdmacm.
 *
 * <p>{@link dev.verbena.cm.Connection} and {@link dev.verbena.cm.Listener} exchange messages
 * without more ado. {@link dev.verbena.cm.Endpoint} waits for each step of a connection's life and
 * leaves its queues to the caller. {@link dev.verbena.cm.EventChannel} and {@link
 * dev.verbena.cm.ConnectionId} are the event-driven interface below, which is librdmacm's own.
 */
@NullMarked
package dev.verbena.cm;

import org.jspecify.annotations.NullMarked;
