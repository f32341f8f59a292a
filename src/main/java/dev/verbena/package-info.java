/** The exceptions and error numbers of all packages of this library. */
package dev.verbena;
