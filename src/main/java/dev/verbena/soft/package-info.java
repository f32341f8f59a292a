/** RDMA devices in software: plain Java, without libibverbs, kernel module or privilege. */
@NullMarked
package dev.verbena.soft;

import org.jspecify.annotations.NullMarked;
