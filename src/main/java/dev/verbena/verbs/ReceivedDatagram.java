package dev.verbena.verbs;

import dev.verbena.internal.foreign.Segments;
import dev.verbena.raw.ibv_grh;
import dev.verbena.raw.ibv_wc;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;

/**
 * The work completion and the GRH of a received datagram, as the functions that create an address
 * handle for its sender require them.
 */
final class ReceivedDatagram {
  private ReceivedDatagram() {}

  /** Returns an {@code ibv_wc} with the fields that identify the sender of the datagram. */
  static MemorySegment completion(Arena arena, Completions completions, int index) {
    MemorySegment wc = ibv_wc.allocate(arena);
    ibv_wc.wc_flags(wc, (int) completions.flags(index).mask());
    ibv_wc.src_qp(wc, completions.sourceQueuePair(index));
    ibv_wc.slid(wc, (short) completions.sourceLid(index));
    ibv_wc.sl(wc, (byte) completions.serviceLevel(index));
    ibv_wc.dlid_path_bits(wc, (byte) completions.destinationPathBits(index));
    return wc;
  }

  /**
   * Returns a copy of the GRH, which C reads only if the completion has the flag for it. It is a
   * copy, as the arena of the buffer may be closed during the call.
   *
   * @throws IllegalArgumentException if the buffer is on the heap, or too short for a GRH
   */
  static MemorySegment route(Arena arena, MemorySegment buffer) {
    Segments.readable(buffer, ibv_grh.sizeof());
    return arena.allocate(ibv_grh.layout()).copyFrom(buffer.asSlice(0, ibv_grh.sizeof()));
  }
}
