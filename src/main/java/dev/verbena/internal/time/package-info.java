/** The clock of the library, and its waits that end with the time. */
@NullMarked
package dev.verbena.internal.time;

import org.jspecify.annotations.NullMarked;
