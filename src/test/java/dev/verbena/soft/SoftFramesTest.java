package dev.verbena.soft;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;

import dev.verbena.Errno;
import dev.verbena.VerbsException;
import dev.verbena.flow.FlowFlag;
import dev.verbena.flow.FlowMatch;
import dev.verbena.flow.FlowRule;
import dev.verbena.flow.FlowType;
import dev.verbena.testing.Frames;
import dev.verbena.testing.RawEnd;
import dev.verbena.values.QueuePairCapacity;
import dev.verbena.values.SendOperation;
import dev.verbena.verbs.Posting;
import java.lang.foreign.MemorySegment;
import java.nio.ByteBuffer;
import java.util.List;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;

/** Raw packets across the network of several devices, its faults, and rules that are refused. */
class SoftFramesTest {

  private final SoftNetwork network = SoftNetwork.create();
  private final RawEnd a = new RawEnd(network.addDevice("soft0"));
  private final RawEnd b = new RawEnd(network.addDevice("soft1"));

  @AfterEach
  void close() {
    a.close();
    b.close();
    network.close();
  }

  private static FlowMatch toPort(int port) {
    return FlowMatch.udp().destination(port);
  }

  @Test
  void ruleThatDoesNotTrapLeavesFramesToOthers() {
    try (RawEnd other = new RawEnd(network.addDevice("soft2"))) {
      other.receive(1);
      b.receive(2);
      b.rule().priority(1).flags(FlowFlag.DONT_TRAP).match(toPort(4000)).tag(1).create();
      b.rule().priority(2).match(FlowMatch.ethernet().type(0x0800)).tag(2).create();
      other.rule().type(FlowType.ALL_DEFAULT).create();
      FlowRule.Builder sniffer = other.rule().type(FlowType.SNIFFER).flags(FlowFlag.DONT_TRAP);
      assertEquals(Errno.EINVAL, assertThrows(VerbsException.class, sniffer::create).errno());
      a.send(Frames.toPort(4000));
      assertEquals(1, b.arrived().getFirst().flowTag(), "each queue pair gets a frame once");
      assertEquals(1, other.arrived().size(), "no port has the Frames.MAC address: sent to all");
    }
  }

  @Test
  void frameForTheMacOfAPortGoesThere() {
    try (RawEnd other = new RawEnd(network.addDevice("soft2"))) {
      other.receive(1);
      b.receive(1);
      b.rule().type(FlowType.SNIFFER).create();
      other.rule().type(FlowType.SNIFFER).create();
      byte[] frame = Frames.toPort(1);
      ByteBuffer mac =
          ByteBuffer.allocate(8).putLong(network.deviceNamed("soft1").ports.get(0).mac());
      System.arraycopy(mac.array(), 2, frame, 0, 6);
      a.send(frame);
      assertEquals(1, b.arrived().size());
      assertEquals(0, other.arrived().size());
    }
  }

  @Test
  void framesMeetTheFaultsOfTheNetwork() {
    b.receive(6);
    b.rule().type(FlowType.SNIFFER).create();
    network.faults().partition("soft0", "soft1");
    a.send(Frames.toPort(1));
    network.faults().none().loss(1);
    a.send(Frames.toPort(2));
    network.faults().none().corrupt(1);
    a.send(Frames.toPort(3));
    network.faults().none().duplicate(1);
    a.send(Frames.toPort(4));
    network.faults().none();
    assertEquals(
        List.of(4, 4), b.arrived().stream().map(f -> (int) f.bytes()[37]).toList(), "twice");
    network.faults().portDown("soft1", 1);
    a.send(Frames.toPort(5));
    assertEquals(List.of(), b.arrived());
  }

  @Test
  void segmentationThatDoesNotFitIntoTheSendQueueIsNotPosted() {
    byte[] frame = Frames.tcp(Frames.MAC, Frames.HERE, Frames.THERE, 3000, 80, 64);
    MemorySegment header = a.memory.asSlice(0, frame.length - 64);
    try (RawEnd sender =
        new RawEnd(
            network.addDevice("soft2"),
            builder ->
                builder
                    .capacity(QueuePairCapacity.of(1))
                    .maxTsoHeader(64)
                    .sendOperations(SendOperation.TSO))) {
      try (Posting posting = sender.queuePair.startPosting()) {
        posting.tso(header, 64).local(sender.region, 0, 64);
        posting.tso(header, 64).local(sender.region, 0, 64);
        assertEquals(0, posting.complete(), "all or none");
      }
    }
  }

  @Test
  void unknownRulesAreRefused() {
    assertErrno(Errno.EOPNOTSUPP, b.rule().flags(FlowFlag.EGRESS));
    assertErrno(Errno.EOPNOTSUPP, b.rule().match(FlowMatch.gre().protocol(1)));
    assertErrno(Errno.EOPNOTSUPP, b.rule().matchInner(FlowMatch.udp().source(1)));
  }

  private static void assertErrno(int errno, FlowRule.Builder rule) {
    assertEquals(errno, assertThrows(VerbsException.class, rule::create).errno());
  }
}
