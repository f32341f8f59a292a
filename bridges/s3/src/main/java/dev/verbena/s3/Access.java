package dev.verbena.s3;

/** By what a server reaches memory of this process: a DC target, or a connection. */
interface Access {
  /** Returns the token for a part of a region. */
  String token(long address, long size, int rkey);

  /** The attempt has ended: the server has answered, or must not access the memory any more. */
  default void release() {
    // A target serves all transfers.
  }
}
