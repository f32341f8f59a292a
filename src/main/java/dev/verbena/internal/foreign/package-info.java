/** Calls of C and native memory by {@code java.lang.foreign}. */
package dev.verbena.internal.foreign;
