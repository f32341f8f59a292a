package dev.verbena.soft;

/** The state that XRC domains share which were opened with one file. */
final class XrcRoot {
  /** What identifies the file, or null for a domain of its own. */
  final Object file;

  int opened;

  XrcRoot(Object file) {
    this.file = file;
  }
}
