package dev.verbena.internal;

/** The argument of methods that only this library calls, and that need no other argument. */
public enum Inside {
  LIBRARY
}
