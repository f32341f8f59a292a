package dev.verbena.soft.transport;

import dev.verbena.soft.wire.Opcode;
import dev.verbena.soft.wire.Psn;

/**
 * The responder resources of a queue pair: the last READ and atomic requests, so that duplicates of
 * them are answered again and not executed again.
 */
final class ResponderResources {
  private int[] psns = new int[0];
  private int[] packets = new int[0];
  private int[] operations = new int[0];
  private long[] addresses = new long[0];
  private long[] lengths = new long[0];
  private int[] keys = new int[0];
  private long[] originals = new long[0];
  private boolean[] waiting = new boolean[0];
  private int next;
  private int count;

  /** Sets how many requests are kept ({@code max_dest_rd_atomic}). */
  void resize(int capacity) {
    clear();
    psns = new int[0]; // None are kept if there is no memory for the others.
    packets = new int[capacity];
    operations = new int[capacity];
    addresses = new long[capacity];
    lengths = new long[capacity];
    keys = new int[capacity];
    originals = new long[capacity];
    waiting = new boolean[capacity];
    psns = new int[capacity];
  }

  void clear() {
    next = 0;
    count = 0;
  }

  /** Whether the queue pair was made without any. */
  boolean isEmpty() {
    return psns.length == 0;
  }

  private int add(int psn, int operation) {
    int at = next;
    next = (next + 1) % psns.length;
    count = Math.min(count + 1, psns.length);
    psns[at] = psn;
    operations[at] = operation;
    waiting[at] = false;
    return at;
  }

  /** Keeps a READ, and returns its place. */
  int addRead(int psn, int packetCount, long address, int key, long length) {
    int at = add(psn, Opcode.READ_REQUEST);
    packets[at] = packetCount;
    addresses[at] = address;
    keys[at] = key;
    lengths[at] = length;
    return at;
  }

  void addResult(int psn, int operation, long original) {
    originals[add(psn, operation)] = original;
  }

  /** The place of a READ that is one of those kept, or the end of one; or -1. */
  int findRead(int psn, long address, int key, long length) {
    for (int i = 0; i < count; i++) {
      int into = Psn.distance(psns[i], psn);
      if (operations[i] == Opcode.READ_REQUEST
          && into >= 0
          && into < packets[i]
          && keys[i] == key
          && covers(i, address, length)) {
        return i;
      }
    }
    return -1;
  }

  private boolean covers(int place, long address, long length) {
    long offset = address - addresses[place];
    return offset >= 0 && offset <= lengths[place] && length <= lengths[place] - offset;
  }

  /** The place of the result of a request, or -1. */
  int findResult(int psn) {
    for (int i = 0; i < count; i++) {
      if (psns[i] == psn && operations[i] != Opcode.READ_REQUEST) {
        return i;
      }
    }
    return -1;
  }

  /** Whether duplicates of a request are answered by what is kept here. */
  static boolean serves(int operation) {
    return !Opcode.isSend(operation) && !Opcode.isWrite(operation);
  }

  /** Whether a duplicate of the request at a place waits until it can be answered. */
  boolean isWaiting(int place) {
    return waiting[place];
  }

  void waiting(int place, boolean is) {
    waiting[place] = is;
  }

  /** The opcode with which the result at a place was sent. */
  int operation(int place) {
    return operations[place];
  }

  long original(int place) {
    return originals[place];
  }
}
