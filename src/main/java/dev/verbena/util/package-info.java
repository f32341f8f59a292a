/**
 * Send and receive rings, whose requests are posted again, a map of queue pairs by number, and an
 * export of the counters of a device.
 */
@NullMarked
package dev.verbena.util;

import org.jspecify.annotations.NullMarked;
