package dev.verbena.verbs;

import org.jspecify.annotations.Nullable;

/**
 * The limits of a queue, against which work requests are validated before they are posted.
 *
 * @param queue the queue pair or shared receive queue
 * @param domain the root of the protection domain of the queue
 * @param type the type of the queue pair; null for receive requests, which all types allow
 * @param sges the maximum number of SGEs of a request
 * @param inlineData the maximum size of the inline data of a request, in bytes
 */
record QueueLimits(
    Resource queue,
    ProtectionDomain domain,
    @Nullable QueuePairType type,
    int sges,
    int inlineData) {}
