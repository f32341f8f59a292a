package dev.verbena.internal;

import dev.verbena.Errno;
import dev.verbena.VerbsException;
import java.util.ArrayList;
import java.util.List;

/** Opens event files until the process has no more descriptors, and prints the failure. */
final class EventFileLimitMain {
  private EventFileLimitMain() {}

  public static void main(String[] args) {
    List<EventFile> open = new ArrayList<>();
    // Loads the classes, which takes descriptors.
    String failure = ErrorConvention.MINUS_ONE.failure("eventfd", -1, Errno.EIO).getMessage();
    try {
      while (true) {
        open.add(EventFile.open());
      }
    } catch (VerbsException e) {
      failure = e.getMessage();
    }
    open.forEach(EventFile::close);
    System.out.println(open.size() + " event files: " + failure);
  }
}
