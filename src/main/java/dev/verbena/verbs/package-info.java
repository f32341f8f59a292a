/**
 * RDMA verbs: devices, memory, queues, and the data path.
 *
 * <p>Begin with {@link dev.verbena.verbs.Device#list()}; {@link dev.verbena.verbs.Verbena} tells
 * whether this machine has what it takes.
 */
package dev.verbena.verbs;
