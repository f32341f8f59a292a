package dev.verbena.programs;

import java.io.IOException;

/** The transfers of a stream program over one connection. */
interface StreamTransfers extends AutoCloseable {
  /** Begins a test: afterwards both ends {@link #synchronize}. */
  default void begin(int size) throws IOException {}

  /** Waits until the peer has begun the test, too. */
  void synchronize(boolean isClient) throws IOException;

  /** Sends as many transfers of a size. */
  void send(int size, int count) throws IOException;

  /** Receives as many transfers of a size. */
  void receive(int size, int count) throws IOException;

  /** Ends a test. */
  default void end() throws IOException {}

  @Override
  void close() throws IOException;
}
