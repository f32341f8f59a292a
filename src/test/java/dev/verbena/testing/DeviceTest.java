package dev.verbena.testing;

import java.lang.annotation.ElementType;
import java.lang.annotation.Retention;
import java.lang.annotation.RetentionPolicy;
import java.lang.annotation.Target;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.ExtendWith;

/**
 * A test that calls an RDMA device: a software device, the emulated NIC, or Soft-RoCE. Without one
 * it is skipped, or fails if {@code -Dtest} chose it.
 */
@Target(ElementType.METHOD)
@Retention(RetentionPolicy.RUNTIME)
@Test
@Tag("device")
@ExtendWith(NeedsDevice.class)
public @interface DeviceTest {}
