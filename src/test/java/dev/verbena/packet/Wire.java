package dev.verbena.packet;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.verbena.fake.FakeProvider;
import dev.verbena.testing.Await;
import dev.verbena.verbs.Device;
import dev.verbena.verbs.FakeDevices;
import dev.verbena.verbs.SendList;
import java.lang.foreign.MemorySegment;

/** The two ports of the device in memory: frames that are sent here leave one for the other. */
final class Wire implements AutoCloseable {
  static final int FRAME = 256;
  static final int DEPTH = 16;

  final FakeProvider provider = new FakeProvider();
  final Device device = FakeDevices.of(provider);
  private final PacketPort sender = PacketPort.on(device, 1).sends(DEPTH).open();
  private final PacketBuffers outgoing = sender.packets(1).fragment(FRAME, 0).create();

  /** Prepares to open the other port, with room for all that a test posts. */
  PacketPortBuilder other() {
    return PacketPort.on(device, 2).receives(DEPTH).sendSges(1).receiveSges(4);
  }

  void send(byte[]... frames) throws InterruptedException {
    for (byte[] frame : frames) {
      SendList sends = outgoing.sends(1);
      sends.local(0, outgoing.region(0), 0, frame.length);
      send(sends, frame);
    }
  }

  /** Leaves the checksums to the device. */
  void sendWithChecksum(byte[] frame) throws InterruptedException {
    SendList sends = outgoing.sendsWithChecksum(1);
    sends.local(0, outgoing.region(0), 0, frame.length);
    send(sends, frame);
  }

  private void send(SendList sends, byte[] frame) throws InterruptedException {
    outgoing.fragment(0, 0).asSlice(0, frame.length).copyFrom(MemorySegment.ofArray(frame));
    assertEquals(1, sender.startSending(sends));
    assertEquals(1, sender.awaitSent(Await.LIMIT));
    assertTrue(sender.sent().isSuccess(0), sender.sent().describe(0));
  }

  @Override
  public void close() {
    sender.close();
    provider.close(); // Throws if anything was left open.
  }
}
