/** Send and receive rings, whose requests are posted again, and a map of queue pairs by number. */
@NullMarked
package dev.verbena.util;

import org.jspecify.annotations.NullMarked;
