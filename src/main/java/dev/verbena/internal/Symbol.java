package dev.verbena.internal;

import java.lang.annotation.ElementType;
import java.lang.annotation.Retention;
import java.lang.annotation.RetentionPolicy;
import java.lang.annotation.Target;

/** Marks a method that stands for a C function which its library exports under the same name. */
@Retention(RetentionPolicy.RUNTIME)
@Target(ElementType.METHOD)
@interface Symbol {
  /** How the function reports failure. */
  ErrorConvention fails();

  /** The first rdma-core release that exports it; 0 where every release does. */
  int since() default 0;

  /** Whether NULL is a good first argument. */
  boolean nullable() default false;
}
