/**
 * A fuzzer over the public API: random calls with random and edge arguments from several threads,
 * in a JVM of its own, on software devices, the emulated NIC or devices of the kernel.
 */
package dev.verbena.fuzz;
