package dev.verbena.soft.transport;

import dev.verbena.internal.foreign.Memory;
import dev.verbena.soft.device.MemoryKey;
import dev.verbena.soft.engine.Scheduler;
import dev.verbena.soft.engine.Timer;
import dev.verbena.soft.wire.Packet;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.util.ArrayDeque;

/**
 * The payloads of RDMA writes that were acknowledged and are not in memory yet, as with a NIC whose
 * writes to memory are under way. They keep their order.
 */
final class LateWrites {
  private record Late(MemoryKey key, long address, byte[] payload) {}

  private final Scheduler scheduler;
  private final Timer timer;
  private final Packet scratch = new Packet();
  private final ArrayDeque<Late> waiting = new ArrayDeque<>();

  LateWrites(Scheduler scheduler) {
    this.scheduler = scheduler;
    timer = new Timer(scheduler.timers(), this::finish);
  }

  /**
   * Writes the payload of a packet after some time.
   *
   * @return false if a part of the memory no longer exists
   */
  boolean add(Packet packet, MemoryKey key, long address, long delay) {
    byte[] payload = Memory.at(packet.payload, packet.length).toArray(ValueLayout.JAVA_BYTE);
    waiting.add(new Late(key, address, payload));
    if (!timer.isRunning()) {
      timer.start(scheduler.now() + delay);
    }
    return key.read(address, scratch.payload, packet.length);
  }

  /** Writes everything: what is executed next relies on it. */
  void finish() {
    if (waiting.isEmpty()) {
      return;
    }
    timer.stop();
    Late late;
    while ((late = waiting.poll()) != null) {
      Memory.at(scratch.payload, late.payload.length).copyFrom(MemorySegment.ofArray(late.payload));
      boolean _ = late.key.write(scratch.payload, late.address, late.payload.length);
    }
  }
}
