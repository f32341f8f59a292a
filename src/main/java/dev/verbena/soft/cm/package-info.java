/**
 * RDMA CM of a software network: what the kernel's rdma_cm and ib_cm do, and what librdmacm adds to
 * an identifier.
 */
@NullMarked
package dev.verbena.soft.cm;

import org.jspecify.annotations.NullMarked;
