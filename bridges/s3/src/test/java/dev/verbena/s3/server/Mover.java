package dev.verbena.s3.server;

/** Moves data from and to the memory of clients. Several threads may use it. */
public interface Mover {
  /**
   * Reads the data of a PUT.
   *
   * @param token the memory of the client
   * @return as many bytes as the token has
   */
  byte[] read(Token token);

  /**
   * Writes the data of a GET.
   *
   * @param token the memory of the client
   * @param data at most as many bytes as the token has
   */
  void write(Token token, byte[] data);
}
