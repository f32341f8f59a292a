package dev.verbena.testing;

import java.lang.annotation.ElementType;
import java.lang.annotation.Retention;
import java.lang.annotation.RetentionPolicy;
import java.lang.annotation.Target;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.condition.EnabledIfEnvironmentVariable;

/** A device test between two network namespaces, each with a device: only some guests have them. */
@Target(ElementType.METHOD)
@Retention(RetentionPolicy.RUNTIME)
@Test
@Tag("device")
@Tag(TwoHostsTest.TAG)
@EnabledIfEnvironmentVariable(
    named = TwoHostsTest.VARIABLE,
    matches = ".+",
    disabledReason = "this machine has no two network namespaces with a device in each")
public @interface TwoHostsTest {
  /** By which a run without two hosts leaves these tests out. */
  String TAG = "two-hosts";

  /** Set where there are two hosts. */
  String VARIABLE = "VERBENA_LAB_TWO_HOSTS";
}
