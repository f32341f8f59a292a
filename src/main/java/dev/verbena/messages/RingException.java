package dev.verbena.messages;

import dev.verbena.RdmaException;
import java.io.Serial;

/**
 * The other end of a one-sided ring has written what is not a ring's: a number outside the ring, or
 * a message that exceeds it. It is damaged, hostile, or another program.
 */
public final class RingException extends RdmaException {
  @Serial private static final long serialVersionUID = 1;

  RingException(String message) {
    super(message);
  }
}
