package dev.verbena.aeron;

import dev.verbena.address.QueuePairAddress;

/**
 * How a peer wants to be addressed.
 *
 * @param address the address of its queue pair
 * @param cookie the immediate data of each message to it, by which it knows the sender
 * @param maximum the longest message that it accepts
 */
record Offer(QueuePairAddress address, int cookie, int maximum) {}
