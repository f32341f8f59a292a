/**
 * Queue pairs and work queues of a software device, and the transport services: the requester and
 * the responder of RC, UC, UD, raw packets.
 */
@NullMarked
package dev.verbena.soft.transport;

import org.jspecify.annotations.NullMarked;
