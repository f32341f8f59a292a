package dev.verbena.internal;

import java.util.function.LongConsumer;
import java.util.function.LongUnaryOperator;

/**
 * Creates a queue with a function of another C library, and destroys it.
 *
 * @param creation creates the queue from the address of its attributes, an extended struct, and
 *     returns the address of the C struct of the queue; values that it changes in the attributes
 *     are used. For a queue that exists, ignores the argument and returns its address
 * @param destruction destroys the queue, given the address of its C struct; throws an exception if
 *     that fails
 */
public record QueueMaker(LongUnaryOperator creation, LongConsumer destruction) {}
