package dev.verbena.simulated;

import dev.verbena.values.CompletionStatus;

/** A send request of a history: what was posted, and how it completed. */
final class SentRequest {
  /** What it does. */
  enum Kind {
    SEND,
    SEND_IMMEDIATE,
    WRITE,
    WRITE_IMMEDIATE,
    /** Of what the poster wrote before. */
    READ,
    /** Of a number that the responder increments meanwhile. */
    READ_NUMBER,
    FETCH_ADD,
    COMPARE_SWAP;

    boolean isReceived() {
      return this == SEND || this == SEND_IMMEDIATE || this == WRITE_IMMEDIATE;
    }

    boolean isWrite() {
      return this == WRITE || this == WRITE_IMMEDIATE;
    }

    boolean isAtomic() {
      return this == FETCH_ADD || this == COMPARE_SWAP;
    }
  }

  final int id;
  final Kind kind;
  final int length;
  final boolean signaled;

  /** What was written before by the same poster, or null: for a READ of it. */
  final SentRequest written;

  /** The expected value of a compare and swap, or the number before a READ of it. */
  final long before;

  /** The receiver must not take it. */
  boolean isRefused;

  boolean isPosted;
  boolean isReceived;
  CompletionStatus status;

  /** What an atomic operation returned. */
  long original;

  SentRequest(int id, Kind kind, int length, boolean signaled, SentRequest written, long before) {
    this.id = id;
    this.kind = kind;
    this.length = length;
    this.signaled = signaled;
    this.written = written;
    this.before = before;
  }

  boolean isSuccess() {
    return status == CompletionStatus.SUCCESS;
  }

  /** A byte of its data: none is 0, and two requests differ in most. */
  byte data(int index) {
    return (byte) (1 + Math.floorMod(((id * 31 + index) * 0x9e37_79b9) >>> 9, 0x50));
  }

  @Override
  public String toString() {
    return kind + " " + id + " of " + length + " bytes: " + (isPosted ? status : "not posted");
  }
}
