package dev.verbena.testing;

import java.lang.annotation.ElementType;
import java.lang.annotation.Retention;
import java.lang.annotation.RetentionPolicy;
import java.lang.annotation.Target;
import org.junit.jupiter.api.Tag;

/**
 * A device test that depends neither on the version of the kernel nor on that of rdma-core. One
 * guest of the lab runs it; the others print how many such tests they omit.
 */
@Target({ElementType.METHOD, ElementType.TYPE})
@Retention(RetentionPolicy.RUNTIME)
@Tag(AnyKernel.TAG)
public @interface AnyKernel {
  /** By which the other guests leave these tests out. */
  String TAG = "any-kernel";
}
