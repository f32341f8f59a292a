package dev.verbena.soft;

import static dev.verbena.testing.Environment.TRIXIE;
import static dev.verbena.testing.Need.KERNEL;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.verbena.address.Mtu;
import dev.verbena.soft.device.DeviceCounters;
import dev.verbena.testing.DeviceTest;
import dev.verbena.testing.Needs;
import dev.verbena.testing.Once;
import dev.verbena.testing.UdpWire;
import dev.verbena.values.AckTimeout;
import dev.verbena.values.CompletionStatus;
import dev.verbena.verbs.SendList;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.time.Duration;
import java.util.Map;
import java.util.function.ToLongFunction;
import org.junit.jupiter.api.extension.RegisterExtension;

/**
 * Messages between a software device over UDP and Soft-RoCE, in both directions, every byte of
 * which is compared, while the network loses, duplicates, delays, reorders and changes packets.
 */
@Needs(KERNEL)
@Once(value = TRIXIE, reason = "the protocol is in Java; the peer is the same device")
class UdpFaultyWireTest {
  private static final int COUNT = 4;
  private static final int LENGTH = 20_000;

  /** Longer than an emulated machine that is busy takes for a packet and its acknowledgement. */
  private static final AckTimeout LONG = AckTimeout.atLeast(Duration.ofSeconds(1));

  /** Where no packet is lost, none is sent again, however slow the machine is. */
  private static final AckTimeout VERY_LONG = AckTimeout.atLeast(Duration.ofSeconds(8));

  /** For messages that cannot arrive: they fail soon. */
  private static final AckTimeout SHORT = AckTimeout.atLeast(Duration.ofMillis(60));

  @RegisterExtension static final UdpWire wire = new UdpWire();

  /** Two connected queue pairs: of the software device, and of Soft-RoCE. */
  private static final class Ends implements AutoCloseable {
    final SoftNetwork network;
    final SoftPair.End soft;
    final SoftPair.End roce;

    Ends(boolean ipv6, Mtu mtu, AckTimeout timeout) throws Exception {
      network = wire.network(ipv6 ? UdpWire.SOFT6 : UdpWire.SOFT);
      soft = new SoftPair.End(network.device());
      roce = new SoftPair.End(wire.device());
      roce.queuePair.setup().gid(wire.gidIndex(ipv6)).mtu(mtu).ackTimeout(timeout).init();
      soft.queuePair.setup().mtu(mtu).ackTimeout(timeout);
      var addressOfRoce = roce.queuePair.localAddress();
      roce.queuePair.connect(soft.queuePair.localAddress());
      soft.queuePair.connect(addressOfRoce);
    }

    Ends(boolean ipv6) throws Exception {
      this(ipv6, Mtu.MTU_4096, LONG);
    }

    /** Sends in both directions, and writes and reads from both ends. */
    void transfer() {
      transferWithoutReadOfRoce();
      writeAndRead(roce, soft);
    }

    void transferWithoutReadOfRoce() {
      SoftPair.transfer(soft, roce, COUNT, LENGTH);
      SoftPair.transfer(roce, soft, COUNT, LENGTH);
      writeAndRead(soft, roce);
    }

    /**
     * What is in memory at 0 is written to the peer's, and read back to behind it. The READ has no
     * fence: Soft-RoCE does not send a READ with a fence again.
     */
    private static void writeAndRead(SoftPair.End from, SoftPair.End to) {
      to.memory.fill((byte) 0);
      SendList list = new SendList(2, 1);
      list.write(0).local(from.region, 0, LENGTH).remote(to.region.start(), to.region.rkey());
      list.read(1)
          .local(from.region, LENGTH, LENGTH)
          .remote(to.region.start(), to.region.rkey())
          .signaled();
      assertEquals(2, from.queuePair.post(list));
      assertEquals(CompletionStatus.SUCCESS, SoftPair.await(from.completions));
      assertEquals(-1, part(from, 0).mismatch(part(to, 0)), "written");
      assertEquals(-1, part(from, 0).mismatch(part(from, LENGTH)), "read back");
    }

    /** Reads what is in memory at 0 of the peer. */
    static void read(SoftPair.End from, SoftPair.End to) {
      for (int at = 0; at < LENGTH; at++) {
        to.memory.set(ValueLayout.JAVA_BYTE, at, (byte) (at * 31));
      }
      from.memory.fill((byte) 0);
      SendList list = new SendList(1, 1);
      list.read(0)
          .local(from.region, 0, LENGTH)
          .remote(to.region.start(), to.region.rkey())
          .signaled();
      assertEquals(1, from.queuePair.post(list));
      assertEquals(CompletionStatus.SUCCESS, SoftPair.await(from.completions));
      assertEquals(-1, part(to, 0).mismatch(part(from, 0)), "read");
    }

    private static MemorySegment part(SoftPair.End end, long at) {
      return end.memory.asSlice(at, LENGTH);
    }

    /**
     * A write to the peer, all of whose packets are changed, fails. A packet may still arrive, with
     * the content that was sent: netem may change a bit that the ICRC does not cover, as of the hop
     * limit or of the sender's Ethernet address.
     */
    static void writeInVain(SoftPair.End from, SoftPair.End to) {
      byte sent = 0x5a;
      from.memory.fill(sent);
      to.memory.fill((byte) 0);
      SendList list = new SendList(1, 1);
      list.write(0)
          .local(from.region, 0, LENGTH)
          .remote(to.region.start(), to.region.rkey())
          .signaled();
      assertEquals(1, from.queuePair.post(list));
      assertEquals(CompletionStatus.RETRY_EXC_ERR, SoftPair.await(from.completions));
      for (int at = 0; at < LENGTH; at++) {
        byte written = to.memory.get(ValueLayout.JAVA_BYTE, at);
        assertTrue(written == 0 || written == sent, "changed content was written");
      }
    }

    long count(ToLongFunction<DeviceCounters> counter) {
      return network.engine.locked(
          () -> counter.applyAsLong(network.fabric.devices().getFirst().counters));
    }

    @Override
    public void close() {
      soft.context.close();
      roce.context.close();
      soft.arena.close();
      roce.arena.close();
      network.close();
    }
  }

  private static void transferUnder(String fault) throws Exception {
    try (Ends ends = new Ends(false)) {
      ends.transfer(); // Compiles the code and resolves addresses.
      wire.under(fault, ends::transfer);
    }
  }

  private static void transferCleanly(boolean ipv6, Mtu mtu) throws Exception {
    try (Ends ends = new Ends(ipv6, mtu, VERY_LONG)) {
      ends.transfer();
      assertEquals(0, ends.count(counters -> counters.corruptPackets));
      assertEquals(0, ends.count(counters -> counters.malformedPackets));
      assertEquals(0, ends.count(counters -> counters.droppedPackets));
      assertEquals(0, ends.count(counters -> counters.retransmissions));
    }
  }

  private static void assertUnchanged(Map<String, Long> before, String... counters)
      throws Exception {
    Map<String, Long> after = wire.counters();
    for (String counter : counters) {
      assertEquals(before.get(counter), after.get(counter), counter);
    }
  }

  @DeviceTest
  void nothingIsDroppedByACleanNetwork() throws Exception {
    Map<String, Long> before = wire.counters();
    for (Mtu mtu : Mtu.values()) {
      transferCleanly(false, mtu);
    }
    transferCleanly(true, Mtu.MTU_4096);
    assertUnchanged(
        before,
        "duplicate_request",
        "out_of_seq_request",
        "rcvd_seq_err",
        "completer_retry_err",
        "retry_exceeded_err",
        "send_err");
  }

  @DeviceTest
  void contentArrivesThoughPacketsAreLost() throws Exception {
    transferUnder("loss 5%");
  }

  @DeviceTest
  void contentArrivesThoughPacketsAreDuplicated() throws Exception {
    transferUnder("duplicate 30%");
  }

  @DeviceTest
  void contentArrivesThoughPacketsAreDelayed() throws Exception {
    transferUnder("delay 50ms");
  }

  /**
   * Soft-RoCE reads on a queue pair that carries nothing else: it ends a READ, with success, when a
   * late acknowledgement of another request arrives between two packets of the response.
   */
  @DeviceTest
  void contentArrivesThoughPacketsAreReordered() throws Exception {
    String fault = "delay 50ms reorder 25%";
    try (Ends ends = new Ends(false)) {
      ends.transfer(); // Compiles the code and resolves addresses.
      wire.under(fault, ends::transferWithoutReadOfRoce);
    }
    try (Ends ends = new Ends(false)) {
      wire.under(fault, () -> Ends.read(ends.roce, ends.soft));
    }
  }

  /** Over IPv6, where the whole ICRC is checked. */
  @DeviceTest
  void theSoftwareDeviceDropsPacketsWithAWrongIcrc() throws Exception {
    try (Ends ends = new Ends(true, Mtu.MTU_4096, SHORT)) {
      wire.under("corrupt 100%", () -> Ends.writeInVain(ends.roce, ends.soft));
      assertTrue(ends.count(counters -> counters.corruptPackets) > 0, "none was counted");
    }
  }

  /** Soft-RoCE counts a packet as received after it checked the ICRC. */
  @DeviceTest
  void softRoceDropsPacketsWithAWrongIcrc() throws Exception {
    try (Ends ends = new Ends(false, Mtu.MTU_4096, SHORT)) {
      Map<String, Long> before = wire.counters();
      ends.network.faults().corrupt(1);
      Ends.writeInVain(ends.soft, ends.roce);
      assertTrue(ends.count(counters -> counters.sentPackets) > 0, "none was sent");
      assertUnchanged(before, "rcvd_pkts");
    }
    try (Ends ends = new Ends(false)) {
      Map<String, Long> before = wire.counters();
      ends.transfer();
      assertTrue(wire.counters().get("rcvd_pkts") > before.get("rcvd_pkts"), "not counted");
    }
  }
}
