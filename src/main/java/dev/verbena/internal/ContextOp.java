package dev.verbena.internal;

import java.lang.annotation.ElementType;
import java.lang.annotation.Retention;
import java.lang.annotation.RetentionPolicy;
import java.lang.annotation.Target;

/**
 * Marks a method that implements a {@code static inline} function of verbs.h by a call through a
 * function pointer of {@code struct verbs_context}, with the guards of the header ({@code
 * abi_compat}, {@code sz}, NULL).
 */
@Retention(RetentionPolicy.RUNTIME)
@Target(ElementType.METHOD)
@interface ContextOp {
  /** Returns the error convention of the function. */
  ErrorConvention fails();

  /**
   * Returns the field of {@code verbs_context}; by default the name of the method without {@code
   * ibv_}.
   */
  String field() default "";

  /**
   * Returns the first rdma-core release whose {@code verbs_context} has the field; 0 for all
   * releases.
   */
  int since() default 0;

  /** Returns the location of the context. */
  Of of() default Of.OBJECT;

  /** The location of the {@code ibv_context} relative to the first argument of a function. */
  enum Of {
    /** The argument is the context. */
    CONTEXT,
    /** The argument is an object whose first field points to the context. */
    OBJECT,
    /** The argument is an {@code ibv_flow}, whose second field points to the context. */
    FLOW
  }
}
