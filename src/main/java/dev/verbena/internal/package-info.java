/**
 * The seam: the only code that makes restricted calls of {@code java.lang.foreign}.
 *
 * <p>{@link dev.verbena.internal.Verbs} and {@link dev.verbena.internal.Librdmacm} list the C
 * functions; {@link dev.verbena.internal.Binding} implements them by native calls; the {@code
 * *Calls} classes call the functions of the data path.
 */
package dev.verbena.internal;
