package dev.verbena.testing;

import java.lang.annotation.ElementType;
import java.lang.annotation.Retention;
import java.lang.annotation.RetentionPolicy;
import java.lang.annotation.Target;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.extension.ExtendWith;

/** A class whose tests, also inherited ones, are device tests: see {@link DeviceTest}. */
@Target(ElementType.TYPE)
@Retention(RetentionPolicy.RUNTIME)
@Tag("device")
@ExtendWith(NeedsDevice.class)
public @interface DeviceTests {}
