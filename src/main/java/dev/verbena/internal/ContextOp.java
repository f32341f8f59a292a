package dev.verbena.internal;

import java.lang.annotation.ElementType;
import java.lang.annotation.Retention;
import java.lang.annotation.RetentionPolicy;
import java.lang.annotation.Target;

/**
 * Marks a method that stands for a {@code static inline} function of verbs.h which calls through a
 * function pointer of {@code struct verbs_context}, after the header's own guards ({@code
 * abi_compat}, {@code sz}, NULL).
 */
@Retention(RetentionPolicy.RUNTIME)
@Target(ElementType.METHOD)
@interface ContextOp {
  /** How the function reports failure. */
  ErrorConvention fails();

  /** The field of {@code verbs_context}; by default the method's name without {@code ibv_}. */
  String field() default "";

  /** The first rdma-core release whose {@code verbs_context} has the field; 0 for every one. */
  int since() default 0;

  /** Where the context is found. */
  Of of() default Of.OBJECT;

  /** Ways from a function's first argument to its {@code ibv_context}. */
  enum Of {
    /** The argument is the context. */
    CONTEXT,
    /** The argument is an object whose first field points to the context. */
    OBJECT,
    /** The argument is an {@code ibv_flow}, whose second field does. */
    FLOW
  }
}
