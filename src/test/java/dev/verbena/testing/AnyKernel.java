package dev.verbena.testing;

import java.lang.annotation.ElementType;
import java.lang.annotation.Retention;
import java.lang.annotation.RetentionPolicy;
import java.lang.annotation.Target;
import org.junit.jupiter.api.Tag;

/**
 * A device test of Java code that no version of the kernel or of rdma-core changes. Of several
 * guests of the lab one runs it, and the others print how many they leave to that one.
 */
@Target({ElementType.METHOD, ElementType.TYPE})
@Retention(RetentionPolicy.RUNTIME)
@Tag(AnyKernel.TAG)
public @interface AnyKernel {
  /** By which the other guests leave these tests out. */
  String TAG = "any-kernel";
}
