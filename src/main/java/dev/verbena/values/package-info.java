/**
 * The constants, flags and attributes of verbs: of queue pairs, work requests, completions, memory
 * and events.
 */
@NullMarked
package dev.verbena.values;

import org.jspecify.annotations.NullMarked;
