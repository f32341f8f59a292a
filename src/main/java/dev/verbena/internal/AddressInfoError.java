package dev.verbena.internal;

import dev.verbena.Errno;
import dev.verbena.VerbsException;

/**
 * The {@code EAI_*} codes of Linux that getaddrinfo(3) returns and rdma_getaddrinfo(3) passes on,
 * each with the errno of the closest meaning.
 */
enum AddressInfoError {
  EAI_NONAME(-2, Errno.ENOENT, "Name or service not known"),
  EAI_AGAIN(-3, Errno.EAGAIN, "Temporary failure in name resolution"),
  EAI_FAIL(-4, Errno.EIO, "Non-recoverable failure in name resolution"),
  EAI_NODATA(-5, Errno.ENOENT, "No address associated with hostname"),
  EAI_FAMILY(-6, Errno.EINVAL, "ai_family not supported"),
  EAI_SOCKTYPE(-7, Errno.EINVAL, "ai_socktype not supported"),
  EAI_SERVICE(-8, Errno.EINVAL, "Servname not supported for ai_socktype"),
  EAI_ADDRFAMILY(-9, Errno.EINVAL, "Address family for hostname not supported"),
  EAI_MEMORY(-10, Errno.ENOMEM, "Memory allocation failure"),
  EAI_OVERFLOW(-12, Errno.EINVAL, "Argument buffer overflow");

  /** The code that means: see errno. */
  private static final int EAI_SYSTEM = -11;

  private final int code;
  private final int errno;
  private final String text;

  AddressInfoError(int code, int errno, String text) {
    this.code = code;
    this.errno = errno;
    this.text = text;
  }

  /** Returns the exception of a negative code other than -1. */
  static VerbsException failure(String function, int code, int errno) {
    if (code == EAI_SYSTEM) {
      return new VerbsException(function, errno == 0 ? Errno.EIO : errno);
    }
    for (AddressInfoError error : values()) {
      if (error.code == code) {
        return new VerbsException(function, error.errno, error.text + " (" + error + ")");
      }
    }
    return new VerbsException(function, Errno.EIO, "getaddrinfo code " + code);
  }
}
