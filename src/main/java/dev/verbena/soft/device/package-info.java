/**
 * The objects of a software device, but for queue pairs and work queues: contexts, protection
 * domains, memory and its keys, completion queues, shared receive queues, ports.
 */
@NullMarked
package dev.verbena.soft.device;

import org.jspecify.annotations.NullMarked;
