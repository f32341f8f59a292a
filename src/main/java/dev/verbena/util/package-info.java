/** Built on verbs alone: rings of requests that are posted again, and a map of queue pairs. */
@NullMarked
package dev.verbena.util;

import org.jspecify.annotations.NullMarked;
