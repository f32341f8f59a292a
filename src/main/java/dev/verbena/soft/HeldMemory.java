package dev.verbena.soft;

/** Memory of a sender that a packet refers to instead of containing a copy of it. */
interface HeldMemory {
  /** Whether the memory exists. */
  boolean isHeld();
}
