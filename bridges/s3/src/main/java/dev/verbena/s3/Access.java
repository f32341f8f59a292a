package dev.verbena.s3;

/** By what a server reaches memory of this process: a DC target, or a connection. */
interface Access {
  /** Returns the token for a part of a region. */
  String token(long address, long size, int rkey);

  /**
   * It is not needed any more for the transfer.
   *
   * @param isFinal whether the server has answered, so that it does nothing more
   */
  default void release(boolean isFinal) {
    // A target serves all transfers.
  }
}
