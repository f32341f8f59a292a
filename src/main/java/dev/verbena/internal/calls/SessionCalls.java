package dev.verbena.internal.calls;

/**
 * The data path of a session: of one thread, one queue pair and the completion queue of its send
 * requests. The caller has checked all arguments.
 */
public abstract class SessionCalls {
  /** A result: an object was closed since what is used was checked. */
  public static final int UNCHECKED = Integer.MIN_VALUE;

  /** The most plain completions that are polled at once. */
  public static final int COMPLETIONS = 16;

  /** The {@code wr_id} of the completions that were polled, if these are plain. */
  public final long[] ids = new long[COMPLETIONS];

  /** An opcode, which has the higher bits, and a length in bytes of each of them. */
  public final long[] opcodesAndLengths = new long[COMPLETIONS];

  /**
   * Whether the completions that were polled are those of successful send requests of the queue
   * pair; others are in the array that the session has.
   */
  public boolean isPlain;

  /**
   * Formats a request without data and without flags.
   *
   * @param opcode the value of {@code enum ibv_wr_opcode}: of a send, a write or a read
   * @param immediate the immediate data, in Java's byte order
   */
  public abstract void format(int request, int opcode, int immediate);

  /** Sets the remote memory of a write or read. */
  public abstract void remote(int request, long address, int key);

  /** Sets immediate data, in Java's byte order. */
  public abstract void immediate(int request, int value);

  /** Sets the {@code send_flags}. */
  public abstract void flags(int request, int flags);

  /** Sets {@code wr_id} and SGE of a request that is formatted. */
  public abstract void local(int request, long id, long address, int length, int key);

  /**
   * Posts requests.
   *
   * @param checkedAt the number of closings when what the requests name was checked
   * @return the number of requests that were posted, a negative errno if the state of the queue
   *     pair does not allow sends, or {@link #UNCHECKED}
   */
  public abstract int post(int from, int count, int checkedAt);

  /**
   * Polls completions.
   *
   * @param checkedAt the number of closings when the queues were checked
   * @return their number, {@link #UNCHECKED}, or another negative number if it failed
   */
  public abstract int poll(int checkedAt);

  /** Returns the value of {@code enum ibv_wc_opcode} of a plain completion. */
  public abstract int opcode(int index);
}
