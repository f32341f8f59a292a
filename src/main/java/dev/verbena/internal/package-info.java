/**
 * The seam: C functions as Java interfaces, error conventions, providers.
 *
 * <p>{@link dev.verbena.internal.Verbs} and {@link dev.verbena.internal.Librdmacm} list the C
 * functions; {@link dev.verbena.internal.Binding} implements them by native calls. The functions of
 * the data path are in {@code dev.verbena.internal.calls}.
 */
package dev.verbena.internal;
