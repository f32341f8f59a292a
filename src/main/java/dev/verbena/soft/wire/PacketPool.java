package dev.verbena.soft.wire;

import org.jspecify.annotations.Nullable;

/** Packets that are not in use, so that none is allocated in steady state. */
public final class PacketPool {
  private static final int KEPT = 1024;

  /** How many packets may wait for the end of READs, of all queue pairs: 75 MB. */
  private static final int MAX_WAITING = 8192;

  private Packet free;
  private int count;
  private int waiting;

  public Packet take() {
    Packet packet = free;
    if (packet == null) {
      return new Packet();
    }
    free = packet.next;
    count--;
    packet.next = null;
    return packet;
  }

  /** Takes a packet; null if there is no memory for it. */
  @Nullable Packet takeIfPossible() {
    try {
      return take();
    } catch (OutOfMemoryError e) {
      return null; // As if it were lost on the way.
    }
  }

  /**
   * Copies a packet that has to wait, and is given back by {@link #releaseWaiting}.
   *
   * @return the copy; null if there is no memory for it
   */
  public @Nullable Packet copyToWait(Packet packet) {
    Packet copy = waiting == MAX_WAITING ? null : takeIfPossible();
    if (copy != null) {
      waiting++;
      copy.copyOf(packet);
    }
    return copy;
  }

  public void releaseWaiting(Packet packet) {
    waiting--;
    release(packet);
  }

  public void release(Packet packet) {
    if (count < KEPT) {
      packet.from = null;
      packet.next = free;
      free = packet;
      count++;
    }
  }
}
