/** The clock of the library, its waits that end with the time, and its locks. */
@NullMarked
package dev.verbena.internal.time;

import org.jspecify.annotations.NullMarked;
