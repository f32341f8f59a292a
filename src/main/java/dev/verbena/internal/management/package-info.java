/** The counters of a device as an MBean: all that needs the module {@code java.management}. */
package dev.verbena.internal.management;
