/**
 * Queue pairs and work queues of a software device, and the transport services: the requester and
 * the responder of RC, UC, UD, raw packets.
 */
package dev.verbena.soft.transport;
