/**
 * RDMA CM: connections by IP address, over librdmacm.
 *
 * <p>{@link dev.verbena.cm.EventChannel} and {@link dev.verbena.cm.ConnectionId} are the
 * event-driven interface, which is librdmacm's own.
 */
package dev.verbena.cm;
