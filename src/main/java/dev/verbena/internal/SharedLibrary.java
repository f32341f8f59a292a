package dev.verbena.internal;

import java.lang.annotation.ElementType;
import java.lang.annotation.Retention;
import java.lang.annotation.RetentionPolicy;
import java.lang.annotation.Target;

/**
 * Names the C library whose functions an interface declares. An interface with this annotation and
 * methods with {@link Symbol} is all that a further library needs, such as that of a provider.
 */
@Retention(RetentionPolicy.RUNTIME)
@Target(ElementType.TYPE)
@interface SharedLibrary {
  /**
   * Its soname, such as {@code libibverbs.so.1}. A path in the system property {@code
   * dev.verbena.libibverbs} replaces it.
   */
  String soname();

  /** The Debian packages that have it, for messages. */
  String packages();

  /** A symbol that every release of it exports. */
  String anchor();
}
