/** What does the work of a software network: turns, tasks and timers. */
@NullMarked
package dev.verbena.soft.engine;

import org.jspecify.annotations.NullMarked;
