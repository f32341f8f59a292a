package dev.verbena.s3.server;

/** What the server does wrong with a request. */
public enum Fault {
  /** Closes the HTTP connection, before it moves data. */
  DROP_BEFORE_TRANSFER,
  /** Moves the data, stores it, and closes the HTTP connection without an answer. */
  DROP_AFTER_TRANSFER,
  /** Moves the data, stores nothing, and answers 500. */
  ERROR_500_AFTER_TRANSFER,
  /** Moves the data, stores nothing, and answers 503. */
  ERROR_503_AFTER_TRANSFER,
  /** Reports a GET as moved without an RDMA WRITE. */
  NO_WRITE,
  /** Writes half of the data of a GET, and reports all of it. */
  SHORT_WRITE,
  /** Writes data with one wrong bit, with the checksum of the object. */
  WRONG_DATA,
  /** Sends a wrong checksum with a GET. */
  WRONG_CHECKSUM,
  /** Reports one byte less than it moved. */
  WRONG_BYTE_COUNT,
  /** Sends the object of a GET in the HTTP body, too. */
  BODY_WITH_REPLY,
  /** Moves the data, and sends no reply header. */
  NO_REPLY
}
