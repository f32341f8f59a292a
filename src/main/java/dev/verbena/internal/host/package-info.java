/** What files of the host tell of a device. */
package dev.verbena.internal.host;
