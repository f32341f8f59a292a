/**
 * Checks of a device, and the report of {@code verbena qualify}.
 *
 * <p>{@link dev.verbena.tools.qualify.Capability} lists what is tried, {@link
 * dev.verbena.tools.qualify.Conformance} tries it, {@link dev.verbena.tools.qualify.Report}
 * collects and writes, {@link dev.verbena.tools.qualify.Redaction} removes names and addresses, and
 * {@link dev.verbena.tools.qualify.Validator} checks a report.
 */
@NullMarked
package dev.verbena.tools.qualify;

import org.jspecify.annotations.NullMarked;
