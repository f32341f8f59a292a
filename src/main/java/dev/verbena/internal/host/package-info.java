/** Attributes of a device from sysfs. */
package dev.verbena.internal.host;
