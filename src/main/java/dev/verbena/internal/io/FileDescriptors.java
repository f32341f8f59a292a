package dev.verbena.internal.io;

import dev.verbena.VerbsException;
import dev.verbena.internal.Explanation;
import dev.verbena.internal.foreign.Libc;
import java.nio.file.Path;

/** File descriptors that C functions take or return. */
public final class FileDescriptors {
  private FileDescriptors() {}

  /**
   * Duplicates a file descriptor: {@code F_DUPFD_CLOEXEC} of {@code fcntl(2)}.
   *
   * @throws dev.verbena.VerbsException EBADF if it is not open
   */
  public static int duplicate(int descriptor) {
    return Libc.duplicate(descriptor);
  }

  /**
   * Opens a file for reading: {@code open(2)}.
   *
   * @throws dev.verbena.VerbsException for example ENOENT or EACCES
   */
  public static int open(Path path) {
    Libc.require("a file descriptor", "use what needs none");
    String name = path.toFile().getAbsolutePath(); // Of the default file system, or it throws.
    try {
      return Libc.open(name);
    } catch (VerbsException e) {
      throw Explanation.add(e, name);
    }
  }

  /**
   * Closes a file descriptor: {@code close(2)}.
   *
   * @throws dev.verbena.VerbsException EBADF if it is not open
   */
  public static void close(int descriptor) {
    Libc.close(descriptor);
  }
}
