/**
 * The command line: {@code ./verbena}, or {@code java -jar verbena-VERSION-tools.jar}.
 *
 * <p>It is not part of the module: the {@code -tools} jar contains it with its three libraries. It
 * uses public members of the library only.
 */
package dev.verbena.tools;
