/** What queries of devices and ports return: attributes, capabilities, counters. */
@NullMarked
package dev.verbena.attributes;

import org.jspecify.annotations.NullMarked;
