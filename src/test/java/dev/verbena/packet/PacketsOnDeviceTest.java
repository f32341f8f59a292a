package dev.verbena.packet;

import static dev.verbena.testing.DeviceKind.SOFT_ROCE;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.verbena.VerbsException;
import dev.verbena.address.AddressVector;
import dev.verbena.address.GlobalRoute;
import dev.verbena.testing.Await;
import dev.verbena.testing.DeviceTest;
import dev.verbena.testing.On;
import dev.verbena.testing.Rig;
import dev.verbena.util.ReceiveRing;
import dev.verbena.values.QueuePairType;
import dev.verbena.verbs.AddressHandle;
import dev.verbena.verbs.Device;
import dev.verbena.verbs.GidChoice;
import dev.verbena.verbs.QueuePair;
import dev.verbena.verbs.SendList;
import java.lang.foreign.ValueLayout;
import java.time.Duration;

/**
 * What can be seen of ports, buffers and loops on a device without raw packets: its refusal, and
 * the same with datagrams, which have their routing header in a fragment of its own.
 */
class PacketsOnDeviceTest {
  private static final int ROUTING_HEADER = 40;
  private static final int QUEUE_KEY = 0x1111_1111;
  private static final int PACKETS = 50;
  private static final Duration LONG = Await.LIMIT;

  @DeviceTest
  @On(SOFT_ROCE)
  void softRoceHasNoRawPackets() {
    Device device = Rig.a();
    VerbsException e = assertThrows(VerbsException.class, () -> PacketPort.on(device, 1).open());
    assertTrue(e.isUnsupported(), e.getMessage());
    assertTrue(e.getMessage().contains(device + " does not support raw packets"), e.getMessage());
  }

  private static PacketPortBuilder datagrams(Device device) {
    return PacketPort.on(device, 1)
        .type(QueuePairType.UD)
        .sends(4)
        .receives(4)
        .sendSges(1)
        .receiveSges(2);
  }

  private static AddressVector path(QueuePair from, QueuePair to) {
    GidChoice local = from.setup().port(1).choice();
    return AddressVector.global(1, new GlobalRoute(to.localAddress().gid(), local.index()));
  }

  @DeviceTest
  void datagramsAreReceivedInFragments() throws InterruptedException {
    try (PacketPort here = datagrams(Rig.a()).open();
        PacketPort there = datagrams(Rig.b()).open();
        PacketBuffers out = here.packets(4).fragment(64, 0).create();
        PacketBuffers in = there.packets(4).fragment(ROUTING_HEADER, 24).fragment(64, 0).create();
        AddressHandle handle =
            here.domain().createAddressHandle(path(here.queuePair(), there.queuePair()))) {
      ReceiveRing ring = there.startReceiving(in.receives(4));
      SendList sends = out.sends(1);
      sends.to(0, handle, there.queuePair().number(), QUEUE_KEY);
      int[] seen = {0};
      for (int i = 0; i < PACKETS; i++) {
        out.fragment(0, 0).set(ValueLayout.JAVA_INT, 0, i);
        assertEquals(1, i == 0 ? here.startSending(sends) : here.queuePair().post(sends));
        assertEquals(1, here.awaitSent(LONG));
        assertTrue(here.sent().isSuccess(0), here.sent().describe(0));
        assertEquals(1, there.awaitReceived(LONG));
        int number = i;
        ring.handle(
            there.received(),
            (batch, index, request) -> {
              assertTrue(batch.isSuccess(index), batch.describe(index));
              assertEquals(ROUTING_HEADER + 64, batch.byteLength(index));
              assertEquals(number, in.fragment(request, 1).get(ValueLayout.JAVA_INT, 0));
              seen[0]++;
              return true;
            });
      }
      assertEquals(PACKETS, seen[0]);
      assertEquals(0, there.awaitReceived(Duration.ofMillis(50)));
    }
  }
}
