package dev.verbena.testing;

import java.lang.annotation.ElementType;
import java.lang.annotation.Retention;
import java.lang.annotation.RetentionPolicy;
import java.lang.annotation.Target;
import org.junit.jupiter.api.extension.ExtendWith;

/**
 * One environment runs a device test, or those of a class, for all guests of the lab, since no
 * version of the kernel or of rdma-core changes the outcome. A test of the verbs, of RDMA CM or of
 * the kernel's management of devices does not have it. {@code -Dlab.full=true} runs the test in
 * every guest and so shows that this is true: do so after a change to what the reason names.
 */
@Target({ElementType.TYPE, ElementType.METHOD})
@Retention(RetentionPolicy.RUNTIME)
@ExtendWith(NeedsDevice.class)
public @interface Once {
  /**
   * A guest, or {@link Environment#SOFT} for tests of Java code over calls that other tests make in
   * the guests. That of a method overrides that of its class.
   */
  Environment value();

  /** Why the outcome is the same everywhere. */
  String reason();
}
