package dev.verbena.verbs;

/**
 * What a queue takes, as far as requests can be judged before C sees them.
 *
 * @param queue the queue pair or shared receive queue
 * @param domain the root of the domain that its memory regions must belong to
 * @param type the type of the queue pair; null for receives, which all types take
 * @param entries scatter/gather entries of a request
 * @param inlineData bytes of a request that may be copied into it
 */
record QueueLimits(
    Resource queue, ProtectionDomain domain, QueuePairType type, int entries, int inlineData) {}
