/** RDMA devices in software: plain Java, without libibverbs, kernel module or privilege. */
package dev.verbena.soft;
