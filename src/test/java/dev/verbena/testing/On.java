package dev.verbena.testing;

import java.lang.annotation.ElementType;
import java.lang.annotation.Retention;
import java.lang.annotation.RetentionPolicy;
import java.lang.annotation.Target;
import org.junit.jupiter.api.extension.ExtendWith;

/**
 * The kinds of devices on which a device test, or each device test of a class, makes sense; without
 * it, all but {@link DeviceKind#EFA}.
 */
@Target({ElementType.TYPE, ElementType.METHOD})
@Retention(RetentionPolicy.RUNTIME)
@ExtendWith(NeedsDevice.class)
public @interface On {
  /** The kinds; with those of its class, a method runs on the kinds that both name. */
  DeviceKind[] value();

  /** Why not on others, unless the test's name says so. */
  String reason() default "";
}
