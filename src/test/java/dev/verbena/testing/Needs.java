package dev.verbena.testing;

import java.lang.annotation.ElementType;
import java.lang.annotation.Retention;
import java.lang.annotation.RetentionPolicy;
import java.lang.annotation.Target;
import org.junit.jupiter.api.extension.ExtendWith;

/**
 * What a device test, or each device test of a class, needs: it is left to the environments that
 * have all of it.
 */
@Target({ElementType.TYPE, ElementType.METHOD})
@Retention(RetentionPolicy.RUNTIME)
@ExtendWith(NeedsDevice.class)
public @interface Needs {
  /** All that is needed; a method's needs are added to those of its class. */
  Need[] value();
}
