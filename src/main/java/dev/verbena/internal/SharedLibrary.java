package dev.verbena.internal;

import java.lang.annotation.ElementType;
import java.lang.annotation.Retention;
import java.lang.annotation.RetentionPolicy;
import java.lang.annotation.Target;

/**
 * Names the C library whose functions an interface declares. To use a further library, such as that
 * of a provider, declare an interface with this annotation and methods with {@link Symbol}.
 */
@Retention(RetentionPolicy.RUNTIME)
@Target(ElementType.TYPE)
@interface SharedLibrary {
  /**
   * Returns the soname, such as {@code libibverbs.so.1}. A path in the system property {@code
   * dev.verbena.libibverbs} overrides it.
   */
  String soname();

  /** Returns the Debian packages of the library, for messages. */
  String packages();

  /** Returns a symbol that all releases export. */
  String anchor();
}
