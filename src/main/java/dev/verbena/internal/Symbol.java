package dev.verbena.internal;

import java.lang.annotation.ElementType;
import java.lang.annotation.Retention;
import java.lang.annotation.RetentionPolicy;
import java.lang.annotation.Target;

/** Marks a method that calls the C function that the library exports with the same name. */
@Retention(RetentionPolicy.RUNTIME)
@Target(ElementType.METHOD)
@interface Symbol {
  /** Returns the error convention of the function. */
  ErrorConvention fails();

  /** Returns the first rdma-core release that exports the function; 0 for all releases. */
  int since() default 0;

  /** Returns whether NULL is a valid first argument. */
  boolean nullable() default false;
}
