package dev.verbena.soft.wire;

import dev.verbena.internal.foreign.Memory;
import dev.verbena.internal.io.UdpSocket;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.nio.ByteBuffer;

/**
 * The memory of datagrams and of the structs that {@code sendmmsg} and {@code recvmmsg} require for
 * them.
 */
final class UdpMessages {
  /** How many datagrams a system call sends or receives. */
  static final int COUNT = 64;

  /** The longest datagram that is a packet, and a byte more than that. */
  static final int CAPACITY = (UdpEnd.MAX_MTU + RoceCodec.MAX_OVERHEAD + Icrc.LENGTH + 64) & -64;

  private static final int NAME = 32;
  private static final int CONTROL = 64;
  private static final int VECTOR = 16;

  private static final int NAME_LENGTH_AT = 8;
  private static final int VECTORS_AT = 16;
  private static final int VECTOR_COUNT_AT = 24;
  private static final int CONTROL_AT = 32;

  private final MemorySegment memory =
      Arena.ofAuto()
          .allocate((long) COUNT * (UdpSocket.MESSAGE + NAME + CONTROL + VECTOR + CAPACITY), 64);
  private final long messages = memory.address();
  private final long names = messages + (long) COUNT * UdpSocket.MESSAGE;
  private final long controls = names + (long) COUNT * NAME;
  private final long vectors = controls + (long) COUNT * CONTROL;
  private final long payloads = vectors + (long) COUNT * VECTOR;
  private final ByteBuffer[] buffers = new ByteBuffer[COUNT];
  private final int nameLength;

  UdpMessages(boolean ipv4) {
    nameLength = ipv4 ? 16 : 28;
    for (int i = 0; i < COUNT; i++) {
      Memory.putLong(message(i), name(i));
      Memory.putLong(message(i) + VECTORS_AT, vector(i));
      Memory.putLong(message(i) + VECTOR_COUNT_AT, 1);
      Memory.putLong(message(i) + CONTROL_AT, control(i));
      Memory.putLong(vector(i), payload(i));
      reset(i);
      buffers[i] = memory.asSlice(payload(i) - messages, CAPACITY).asByteBuffer();
    }
  }

  /** Makes all of it available for a datagram that is received. */
  final void reset(int i) {
    Memory.putInt(message(i) + NAME_LENGTH_AT, nameLength);
    length(i, CAPACITY);
  }

  final long message(int i) {
    return messages + (long) i * UdpSocket.MESSAGE;
  }

  final long name(int i) {
    return names + (long) i * NAME;
  }

  final long control(int i) {
    return controls + (long) i * CONTROL;
  }

  private long vector(int i) {
    return vectors + (long) i * VECTOR;
  }

  final long payload(int i) {
    return payloads + (long) i * CAPACITY;
  }

  final ByteBuffer buffer(int i) {
    return buffers[i];
  }

  final void length(int i, int length) {
    Memory.putLong(vector(i) + 8, length);
  }
}
