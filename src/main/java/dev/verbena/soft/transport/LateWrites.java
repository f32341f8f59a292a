package dev.verbena.soft.transport;

import dev.verbena.internal.foreign.Memory;
import dev.verbena.raw.rdma_h;
import dev.verbena.soft.device.Delays;
import dev.verbena.soft.device.MemoryKey;
import dev.verbena.soft.device.SoftDevice;
import dev.verbena.soft.engine.Engine;
import dev.verbena.soft.engine.Timer;
import dev.verbena.soft.wire.Packet;
import dev.verbena.soft.wire.PacketPool;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.util.ArrayList;
import java.util.List;
import java.util.Set;

/**
 * The data of RDMA writes that were acknowledged and are not in memory yet, as with a NIC whose
 * writes to memory are under way. The pieces of a write come in any order. Those of two writes keep
 * their order if one overlaps the other, or the region has no relaxed ordering.
 */
final class LateWrites {
  private record Piece(int write, MemoryKey key, long address, byte[] data, long due) {
    boolean isBefore(Piece later) {
      long distance = later.key.at(later.address) - key.at(address);
      return due <= later.due
          || (write != later.write && !later.key.allows(rdma_h.IBV_ACCESS_RELAXED_ORDERING()))
          || (distance < data.length && -distance < later.data.length);
    }
  }

  private final Engine engine;
  private final Delays delays;
  private final Set<Runnable> finishes;
  private final Runnable finish = this::finish;
  private final Timer timer;
  private final PacketPool packets;
  private final List<Piece> waiting = new ArrayList<>();

  LateWrites(SoftDevice device) {
    engine = device.engine;
    delays = device.delays;
    packets = device.packets;
    finishes = device.keys.writes;
    timer = new Timer(engine.timers(), this::place);
  }

  /**
   * Writes the payload of a packet after some time.
   *
   * @param write the number of the RDMA write
   * @return false if a part of the memory no longer exists
   */
  boolean add(int write, Packet packet, MemoryKey key, long address) {
    MemorySegment payload = Memory.at(packet.payload, packet.length);
    int from = 0;
    while (from < packet.length) {
      int size = delays.piece(key.at(address + from), packet.length - from);
      byte[] data = payload.asSlice(from, size).toArray(ValueLayout.JAVA_BYTE);
      long due = engine.now() + delays.placement(address + from, size);
      add(new Piece(write, key, address + from, data, due));
      from += size;
    }
    place(); // What is not late.
    Packet scratch = packets.take();
    boolean exists = key.read(address, scratch.payload, packet.length);
    packets.release(scratch);
    return exists;
  }

  private void add(Piece piece) {
    int place = waiting.size();
    while (place > 0 && !waiting.get(place - 1).isBefore(piece)) {
      place--;
    }
    waiting.add(place, piece);
  }

  private void startTimer() {
    if (waiting.isEmpty()) {
      finishes.remove(finish);
    } else {
      finishes.add(finish);
      timer.start(waiting.getFirst().due);
    }
  }

  /** Writes the first pieces. */
  private void place() {
    try {
      while (!waiting.isEmpty() && waiting.getFirst().due <= engine.now()) {
        write(waiting.getFirst());
        waiting.removeFirst();
      }
    } finally {
      startTimer(); // Also if no memory was left for a piece.
    }
  }

  /** Writes everything: what is executed next relies on it. */
  void finish() {
    if (waiting.isEmpty()) {
      return;
    }
    timer.stop();
    finishes.remove(finish);
    waiting.forEach(this::write);
    waiting.clear();
  }

  private void write(Piece piece) {
    Packet scratch = packets.take();
    Memory.at(scratch.payload, piece.data.length).copyFrom(MemorySegment.ofArray(piece.data));
    boolean _ = piece.key.write(scratch.payload, piece.address, piece.data.length);
    packets.release(scratch);
  }
}
