package dev.verbena.packet;

/** Of which completions a queue tells its channel, once, after the port is opened. */
public enum Announcement {
  /** Of none, until something asks for it. */
  NONE,
  /** Of the first that failed, or that the peer wanted to be announced. */
  SOLICITED,
  /** Of the first. */
  ANY
}
