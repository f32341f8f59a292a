/**
 * The exceptions, error numbers, constants and flags of C that all packages of this library use.
 */
package dev.verbena;
