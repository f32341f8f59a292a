package dev.verbena.testing;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.verbena.flow.FlowRule;
import dev.verbena.values.AccessFlag;
import dev.verbena.values.CompletionField;
import dev.verbena.values.CompletionFlag;
import dev.verbena.values.QueuePairAttributes;
import dev.verbena.values.QueuePairCapacity;
import dev.verbena.values.QueuePairType;
import dev.verbena.verbs.CompletionCursor;
import dev.verbena.verbs.Context;
import dev.verbena.verbs.Device;
import dev.verbena.verbs.ExtendedCompletionQueue;
import dev.verbena.verbs.MemoryRegion;
import dev.verbena.verbs.ProtectionDomain;
import dev.verbena.verbs.QueuePair;
import dev.verbena.verbs.QueuePairBuilder;
import dev.verbena.verbs.ReceiveList;
import dev.verbena.verbs.SendList;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.util.ArrayList;
import java.util.List;
import java.util.function.UnaryOperator;

/** A raw packet queue pair on a device, its memory, and the frames that it received. */
public final class RawEnd implements AutoCloseable {
  /** The size of the memory of a frame. */
  public static final int SLOT = 2048;

  private static final int SLOTS = 16;

  /** A frame that arrived. */
  public record Arrived(byte[] bytes, int flowTag, int vlan, boolean checksumsGood) {}

  private final Arena arena = Arena.ofShared();

  /** The memory of all frames; that which is sent is in the first slot. */
  public final MemorySegment memory = arena.allocate((long) SLOT * SLOTS, 4096);

  /** The device. */
  public final Context context;

  /** The domain of the queue pair. */
  public final ProtectionDomain domain;

  /** The completions of the queue pair. */
  public final ExtendedCompletionQueue completions;

  /** The queue pair, ready to send. */
  public final QueuePair queuePair;

  /** The registered memory. */
  public final MemoryRegion region;

  private int posted;

  /** Opens a device and makes a queue pair with some choices. */
  public RawEnd(Device device, UnaryOperator<QueuePairBuilder> choices) {
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
                QueuePair.builder(domain, QueuePairType.RAW_PACKET)
                    .completions(completions)
                    .capacity(QueuePairCapacity.of(SLOTS)))
            .create();
    region = domain.registerMemory(memory, AccessFlag.LOCAL_WRITE);
    queuePair.setup().port(1).init();
    queuePair.modify(QueuePairAttributes.toReadyToReceive(queuePair.type()).build());
    queuePair.modify(QueuePairAttributes.toReadyToSend(queuePair.type()).build());
  }

  /** Opens a device and makes a queue pair. */
  public RawEnd(Device device) {
    this(device, builder -> builder);
  }

  /** A rule for frames that arrive here. */
  public FlowRule.Builder rule() {
    return FlowRule.on(queuePair, 1);
  }

  /** Posts receives, each into a slot of its own. */
  public void receive(int count) {
    for (int i = 0; i < count; i++) {
      int slot = posted++ % SLOTS;
      ReceiveList receives = new ReceiveList(1, 1);
      receives.id(0, slot);
      receives.local(0, region, (long) slot * SLOT, SLOT);
      assertEquals(1, queuePair.post(receives));
    }
  }

  /** Sends a frame from slot 0 and waits until it was delivered. */
  public void send(byte[] frame) {
    SendList sends = new SendList(1, 1);
    memory.asSlice(0, frame.length).copyFrom(MemorySegment.ofArray(frame));
    sends.send(0).local(region, 0, frame.length).signaled();
    post(sends);
  }

  /** Posts one request and waits until it is done. */
  public void post(SendList sends) {
    assertEquals(1, queuePair.post(sends));
    assertEquals(1, completions(1).size());
  }

  /** Waits for as many frames; fails if there are more. */
  public List<Arrived> arrived(int count) {
    List<Arrived> frames = new ArrayList<>();
    Await.until(
        count + " frames",
        () -> {
          frames.addAll(arrived());
          return frames.size() >= count;
        });
    assertEquals(count, frames.size());
    return frames;
  }

  /**
   * The frames that arrived until now. A software device delivers a frame before its send
   * completes.
   */
  public List<Arrived> arrived() {
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
    Await.until(
        () -> ids.size() + " of " + count + " completions",
        () -> {
          try (CompletionCursor cursor = completions.startPolling()) {
            while (cursor.next()) {
              assertTrue(cursor.isSuccess(), cursor.status().name());
              ids.add(cursor.id());
            }
          }
          return ids.size() >= count;
        });
    return ids;
  }

  @Override
  public void close() {
    context.close();
    arena.close();
  }
}
