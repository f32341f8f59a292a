/**
 * RDMA verbs: devices, memory, queues, and the data path.
 *
 * <p>Begin with {@link dev.verbena.verbs.Device#list()}.
 */
package dev.verbena.verbs;
