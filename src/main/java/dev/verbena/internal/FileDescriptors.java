package dev.verbena.internal;

/** File descriptors that C functions take over. */
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
}
