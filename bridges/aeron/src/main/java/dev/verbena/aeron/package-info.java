/**
 * Aeron's media driver over RDMA: two suppliers of channel endpoints, which exchange the frames of
 * unicast channels as UD messages where both ends have an RDMA device, and by UDP elsewhere; those
 * of multicast channels if a rule says so.
 */
package dev.verbena.aeron;
