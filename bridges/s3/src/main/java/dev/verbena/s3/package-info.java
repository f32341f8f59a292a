/**
 * S3 over RDMA for the AWS SDK for Java v2: objects are read from and written to registered memory
 * of this process by the server, while the SDK exchanges headers only. {@link
 * dev.verbena.s3.S3Rdma} is the interface for programs; most programs set a property and call
 * nothing.
 */
package dev.verbena.s3;
