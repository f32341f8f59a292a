/**
 * The command line: {@code ./verbena}, or {@code java -jar verbena-VERSION-tools.jar}.
 *
 * <p>Not part of the module, and its libraries are optional dependencies: who only uses verbs gets
 * neither. It is also a user of the library like any other, and sees its public members alone.
 */
package dev.verbena.tools;
