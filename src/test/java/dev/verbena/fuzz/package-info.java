/**
 * A fuzzer over the public API: random calls with random and edge arguments from several threads,
 * in a JVM of its own, on the fake device or on a real one.
 */
package dev.verbena.fuzz;
