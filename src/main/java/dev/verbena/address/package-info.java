/**
 * Addresses and paths: GIDs and their tables, address vectors, Ethernet addresses, the address of a
 * queue pair, MTU and rate.
 */
@NullMarked
package dev.verbena.address;

import org.jspecify.annotations.NullMarked;
