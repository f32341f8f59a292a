/**
 * RDMA verbs: devices, memory, queues, and the data path.
 *
 * <p>{@link dev.verbena.verbs.Verbena} tells whether this machine can.
 */
package dev.verbena.verbs;
