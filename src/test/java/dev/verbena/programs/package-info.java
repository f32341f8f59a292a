/**
 * The example programs of the RDMA manuals and of rdma-core, with their options and output: for
 * tests with the C programs as peers, and as examples of the manuals.
 */
package dev.verbena.programs;
