package dev.verbena.soft.wire;

/** Memory of a sender that a packet refers to instead of containing a copy of it. */
public interface HeldMemory {
  /** Whether the memory exists. */
  boolean isHeld();
}
