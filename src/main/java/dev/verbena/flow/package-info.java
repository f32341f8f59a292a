/** Flow steering: rules that choose the queue pair of a packet, their actions and counters. */
@NullMarked
package dev.verbena.flow;

import org.jspecify.annotations.NullMarked;
