/**
 * The events of this library for JDK Flight Recorder.
 *
 * <p>{@link dev.verbena.internal.jfr.FlightEvents} is all that other packages use: it needs no
 * {@code jdk.jfr}, whose classes the event classes extend.
 */
package dev.verbena.internal.jfr;
