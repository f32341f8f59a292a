package dev.verbena.soft;

/** What the XRC domains have in common that were opened with one file. */
final class XrcRoot {
  /** What identifies the file, or null for a domain of its own. */
  final Object file;

  int opened;

  XrcRoot(Object file) {
    this.file = file;
  }
}
