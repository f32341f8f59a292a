/** What does the work of a software network: turns, tasks and timers. */
package dev.verbena.soft.engine;
