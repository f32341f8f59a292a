package dev.verbena.verbs;

import dev.verbena.internal.life.Core;
import dev.verbena.values.QueuePairType;
import org.jspecify.annotations.Nullable;

/**
 * The limits of a queue, against which work requests are validated before they are posted.
 *
 * @param queue the lifecycle of the queue pair, shared receive queue or work queue
 * @param domain the {@linkplain ProtectionDomain#root root} of its protection domain
 * @param type the type of the queue pair; null for receive requests, which all types allow
 * @param sges the maximum number of SGEs of a request
 * @param inlineData the maximum size of the inline data of a request, in bytes
 */
record QueueLimits(
    Core queue, long domain, @Nullable QueuePairType type, int sges, int inlineData) {}
