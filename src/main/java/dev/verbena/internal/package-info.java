/**
 * The seam to C: the only code that makes restricted calls.
 *
 * <p>{@link dev.verbena.internal.Verbs} and {@link dev.verbena.internal.Librdmacm} list the
 * functions; {@link dev.verbena.internal.Binding} makes them calls; the {@code *Calls} classes are
 * the data path.
 */
package dev.verbena.internal;
