package dev.verbena.soft;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.verbena.verbs.AccessFlag;
import dev.verbena.verbs.CompletionCursor;
import dev.verbena.verbs.CompletionField;
import dev.verbena.verbs.CompletionFlag;
import dev.verbena.verbs.Context;
import dev.verbena.verbs.Device;
import dev.verbena.verbs.ExtendedCompletionQueue;
import dev.verbena.verbs.MemoryRegion;
import dev.verbena.verbs.ProtectionDomain;
import dev.verbena.verbs.QueuePair;
import dev.verbena.verbs.QueuePairBuilder;
import dev.verbena.verbs.QueuePairCapacity;
import dev.verbena.verbs.QueuePairType;
import dev.verbena.verbs.ReceiveList;
import dev.verbena.verbs.SendList;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.function.UnaryOperator;

/** A raw packet queue pair on a device, its memory, and the frames that it received. */
final class RawEnd implements AutoCloseable {
  static final int SLOT = 2048;
  static final int SLOTS = 16;
  static final int TSO_HEADER = 128;

  private static final long PATIENCE = Duration.ofSeconds(60).toNanos();

  /** A frame that arrived. */
  record Arrived(byte[] bytes, int flowTag, int vlan, boolean checksumsGood) {}

  final Arena arena = Arena.ofShared();
  final MemorySegment memory = arena.allocate((long) SLOT * SLOTS, 4096);
  final Context context;
  final ProtectionDomain domain;
  final ExtendedCompletionQueue completions;
  final QueuePair queuePair;
  final MemoryRegion region;
  private int posted;

  RawEnd(Device device, UnaryOperator<QueuePairBuilder> choices) {
    context = device.open();
    domain = context.allocateProtectionDomain();
    completions =
        context
            .completionQueue(64)
            .createExtended(
                CompletionField.BYTE_LEN, CompletionField.FLOW_TAG, CompletionField.CVLAN);
    queuePair =
        choices
            .apply(
                domain
                    .queuePair(QueuePairType.RAW_PACKET)
                    .completions(completions)
                    .capacity(QueuePairCapacity.of(SLOTS)))
            .create();
    region = domain.registerMemory(memory, AccessFlag.LOCAL_WRITE);
    queuePair.setup().port(1).init();
    queuePair.toReadyToReceive().apply();
    queuePair.toReadyToSend().apply();
  }

  RawEnd(Device device) {
    this(device, builder -> builder);
  }

  void receive(int count) {
    for (int i = 0; i < count; i++) {
      int slot = posted++ % SLOTS;
      ReceiveList receives = new ReceiveList(1, 1);
      receives.id(0, slot);
      receives.local(0, region, (long) slot * SLOT, SLOT);
      assertEquals(1, queuePair.post(receives));
    }
  }

  /** Sends a frame from slot 0 and waits until it was delivered. */
  void send(byte[] frame) {
    SendList sends = new SendList(1, 1);
    memory.asSlice(0, frame.length).copyFrom(MemorySegment.ofArray(frame));
    sends.send(0).local(region, 0, frame.length).signaled();
    post(sends);
  }

  /** Posts one request and waits until it is done. */
  void post(SendList sends) {
    assertEquals(1, queuePair.post(sends));
    assertEquals(1, completions(1).size());
  }

  /** The frames that arrived: a frame is delivered before its send completes. */
  List<Arrived> arrived() {
    List<Arrived> frames = new ArrayList<>();
    try (CompletionCursor cursor = completions.startPolling()) {
      while (cursor.next()) {
        frames.add(arrived(cursor));
      }
    }
    return frames;
  }

  private Arrived arrived(CompletionCursor cursor) {
    assertTrue(cursor.isSuccess(), cursor.status().name());
    return new Arrived(
        memory.asSlice(cursor.id() * SLOT, cursor.byteLength()).toArray(ValueLayout.JAVA_BYTE),
        cursor.flowTag(),
        cursor.vlan(),
        cursor.has(CompletionFlag.IP_CSUM_OK));
  }

  private List<Long> completions(int count) {
    List<Long> ids = new ArrayList<>();
    long end = System.nanoTime() + PATIENCE;
    while (ids.size() < count) {
      assertTrue(System.nanoTime() < end, "no completion");
      try (CompletionCursor cursor = completions.startPolling()) {
        while (cursor.next()) {
          assertTrue(cursor.isSuccess(), cursor.status().name());
          ids.add(cursor.id());
        }
      }
    }
    return ids;
  }

  @Override
  public void close() {
    context.close();
    arena.close();
  }
}
