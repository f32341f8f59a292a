package dev.verbena.packet;

/** The completions for which a queue of a packet port generates the first completion event. */
public enum Announcement {
  /** None, until a notification is requested. */
  NONE,
  /** The first failed or solicited completion. */
  SOLICITED,
  /** The first completion. */
  ANY
}
