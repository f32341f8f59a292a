/** The data path: calls of functions through pointers in C objects. */
package dev.verbena.internal.calls;
