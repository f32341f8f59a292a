package dev.verbena.soft;

import static org.junit.jupiter.api.Assertions.assertEquals;

import dev.verbena.address.Gid;
import dev.verbena.soft.device.DeviceCounters;
import dev.verbena.soft.device.SoftAddressVector;
import dev.verbena.soft.device.SoftPort;
import dev.verbena.soft.transport.SoftQueuePair;
import dev.verbena.soft.wire.Gids;
import dev.verbena.soft.wire.Opcode;
import dev.verbena.soft.wire.Packet;
import dev.verbena.soft.wire.Psn;
import dev.verbena.values.AccessFlag;
import dev.verbena.values.QueuePairCapacity;
import dev.verbena.values.QueuePairType;
import dev.verbena.verbs.CompletionQueue;
import dev.verbena.verbs.Completions;
import dev.verbena.verbs.Context;
import dev.verbena.verbs.MemoryRegion;
import dev.verbena.verbs.ProtectionDomain;
import dev.verbena.verbs.QueuePair;
import dev.verbena.verbs.ReceiveList;
import java.net.InetAddress;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;

/** What receivers of the unreliable services do with packets that a test makes. */
class UnreliableServicesTest {
  private static final int SIZE = 1024;
  private static final Gid GROUP = Gid.parse("::ffff:239.7.7.7");

  private final SoftNetwork network = SoftNetwork.create();
  private final Context context = network.addDevice("soft0").open();
  private final ProtectionDomain domain = context.allocateProtectionDomain();
  private final CompletionQueue completions = context.createCompletionQueue(64);
  private final MemoryRegion region =
      domain.allocateMemory(2 * SIZE, AccessFlag.LOCAL_WRITE, AccessFlag.REMOTE_WRITE);

  @AfterEach
  void close() {
    context.close();
    network.close();
  }

  private QueuePair queuePair(QueuePairType type) {
    return QueuePair.builder(domain, type)
        .completions(completions)
        .capacity(QueuePairCapacity.of(4))
        .create();
  }

  private SoftQueuePair soft(QueuePair queuePair) {
    return SoftQueuePair.at(queuePair.segment().address());
  }

  /** Sends a packet of a WRITE with immediate data from a UC queue pair. */
  private void write(SoftQueuePair from, int operation, int psn, int announced, int length) {
    network.engine.locked(
        () -> {
          Packet packet = from.device.packets.take().reset(Opcode.UC | operation, 0, psn);
          packet.destination = from.remoteNumber;
          packet.address = region.start();
          packet.remoteKey = region.rkey();
          packet.dmaLength = announced;
          packet.length = length;
          from.transmit(packet);
        });
  }

  private int received(int lengthOfLast) {
    QueuePair sender = queuePair(QueuePairType.UC);
    QueuePair receiver = queuePair(QueuePairType.UC);
    receiver.connect(sender.localAddress());
    sender.connect(receiver.localAddress());
    ReceiveList receives = new ReceiveList(1, 1);
    receives.local(0, region, 0, 8);
    assertEquals(1, receiver.post(receives));
    SoftQueuePair from = soft(sender);
    int psn = network.engine.locked(() -> from.attributes.getInt("sq_psn"));
    write(from, Opcode.WRITE_FIRST, psn, 2 * SIZE, SIZE);
    write(from, Opcode.WRITE_LAST_IMM, Psn.plus(psn, 1), 0, lengthOfLast);
    return completions.poll(new Completions(1)); // A UC packet is received when it is sent.
  }

  @Test
  void aWriteOfTheAnnouncedLengthCompletes() {
    assertEquals(1, received(SIZE));
  }

  @Test
  void aWriteThatFallsShortOfTheAnnouncedLengthDoesNotComplete() {
    assertEquals(0, received(SIZE - 1));
  }

  @Test
  void corruptMulticastPacketsAreCountedOncePerDevice() throws Exception {
    Gids group = Gids.of(InetAddress.getByName("239.7.7.7"));
    QueuePair sender = queuePair(QueuePairType.UD);
    QueuePair member = queuePair(QueuePairType.UD);
    QueuePair other = queuePair(QueuePairType.UD);
    for (QueuePair ready : new QueuePair[] {sender, member, other}) {
      ready.activate();
    }
    member.attachMulticast(GROUP, 0);
    other.attachMulticast(GROUP, 0);
    DeviceCounters counters = network.deviceNamed("soft0").counters;
    network.engine.locked(
        () -> {
          SoftPort port = network.deviceNamed("soft0").port(1);
          Packet packet =
              port.device.packets.take().reset(Opcode.UD | Opcode.SEND_ONLY, Psn.MASK, 0);
          new SoftAddressVector(port, port.gids.getFirst(), group, 0, 1, 0, 0).address(packet);
          packet.queueKey = 7;
          packet.corrupt = true;
          network.fabric.send(port, packet);
          assertEquals(1, counters.corruptPackets);
          assertEquals(1, counters.receivedPackets);
        });
    member.detachMulticast(GROUP, 0);
    other.detachMulticast(GROUP, 0);
  }
}
