package dev.verbena.programs;

import static dev.verbena.testing.DeviceKind.SOFT_ROCE;
import static dev.verbena.testing.Environment.FORKY;
import static org.junit.jupiter.api.Assertions.assertAll;
import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.verbena.address.EthernetAddress;
import dev.verbena.fake.FakeProvider;
import dev.verbena.flow.FlowRule;
import dev.verbena.flow.FlowType;
import dev.verbena.packet.PacketBuffers;
import dev.verbena.packet.PacketPort;
import dev.verbena.testing.Await;
import dev.verbena.testing.DeviceTest;
import dev.verbena.testing.Frames;
import dev.verbena.testing.On;
import dev.verbena.testing.Once;
import dev.verbena.testing.Rig;
import dev.verbena.testing.Run;
import dev.verbena.tools.command.Cli;
import dev.verbena.tools.command.PortOptions;
import dev.verbena.values.CompletionFlag;
import dev.verbena.verbs.Device;
import dev.verbena.verbs.FakeDevices;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.net.Inet4Address;
import java.net.InetAddress;
import java.net.UnknownHostException;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.concurrent.FutureTask;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;
import picocli.CommandLine;
import picocli.CommandLine.IFactory;

/**
 * {@code packets}, one port to the other of the device in memory: no software device of the kernel
 * has raw packets.
 */
@Once(value = FORKY, reason = "options and output")
class PacketProgramsTest {
  private static final String MAC = "02:00:00:00:00:0a";

  private final FakeProvider provider = new FakeProvider();
  private final Device device = FakeDevices.of(provider);

  @AfterEach
  void nothingIsLeftOpen() {
    provider.close();
  }

  /** Makes programs take the device in memory. */
  private final class OnMemory implements IFactory {
    @Override
    public <K> K create(Class<K> type) throws Exception {
      return type == PortOptions.class
          ? type.cast(new MemoryOptions())
          : CommandLine.defaultFactory().create(type);
    }
  }

  private final class MemoryOptions extends PortOptions {
    @Override
    public Device device() {
      return device;
    }
  }

  private Run run(String line) {
    return Run.with(new OnMemory(), line.split(" "));
  }

  /** Runs programs that receive, and returns when all of them can. */
  private List<FutureTask<Run>> receivers(String... options) {
    List<FutureTask<Run>> receivers = new ArrayList<>();
    int listeners = provider.internals().listeners();
    for (String option : options) {
      FutureTask<Run> receiver = new FutureTask<>(() -> run("packets receive -i 2 " + option));
      Thread.ofPlatform().start(receiver);
      receivers.add(receiver);
    }
    Await.until(
        "programs that receive",
        () ->
            provider.internals().listeners() == listeners + options.length
                || receivers.stream().anyMatch(FutureTask::isDone));
    return receivers;
  }

  private FutureTask<Run> receiver(String options) {
    return receivers(options).getFirst();
  }

  @Test
  void exactlyNPacketsAreReceived() throws Exception {
    FutureTask<Run> receiver =
        receiver("-n 100 -r 100 -t 30 --dmac " + MAC + " --dport 4000 --header 42");
    Run sender = run("packets send --dmac " + MAC + " -n 100 -s 200 --offload");
    assertEquals(
        """
        sending from port 1 of memory0 to 02:00:00:00:00:0a
        100 packets, 20000 bytes; checksums by the device
        """,
        sender.succeeded().out());
    String[] received = receiver.get().succeeded().out().split("\n");
    assertEquals(2, received.length, Arrays.toString(received));
    assertTrue(
        received[0].startsWith("receiving on port 2 of memory0 by a flow rule of queue pair"));
    assertEquals("100 packets, 20000 bytes; 100 with good checksums", received[1]);
  }

  private void awaitReceives(int number) {
    Await.until(number + " receives", () -> provider.internals().waitingReceives() == number);
  }

  @Test
  void noMoreThanNReceivesArePosted() throws Exception {
    FutureTask<Run> receiver = receiver("-n 10 -r 4 -t 30 --dport 4000");
    for (int i = 0; i < 8; i++) {
      run("packets send --dmac " + MAC).succeeded();
      awaitReceives(Math.min(4, 10 - i - 1));
    }
    run("packets send --dmac " + MAC + " -n 5").succeeded();
    String out = receiver.get().succeeded().out();
    assertTrue(out.endsWith("\n10 packets, 640 bytes; 10 with good checksums\n"), out);
  }

  @Test
  void missingPacketsFailTheCommand() throws Exception {
    FutureTask<Run> receiver = receiver("-n 4 -t 4 --sport 4000");
    run("packets send --dmac " + MAC + " -n 3").succeeded();
    Run run = receiver.get();
    assertEquals(1, run.status());
    assertEquals("3 of 4 packets received, none within 4 s", run.err().strip());
    assertTrue(run.out().contains("3 packets, 192 bytes"), run.out());
  }

  @Test
  void streamIsReceivedUntilATimeout() throws Exception {
    FutureTask<Run> receiver = receiver("-t 5 -r 16 --rule sniffer");
    for (int i = 0; i < 20; i++) {
      awaitReceives(16); // What comes when nothing is posted is lost.
      run("packets send --dmac " + MAC + " -n 16 --depth 3").succeeded();
    }
    Run run = receiver.get().succeeded();
    assertTrue(run.out().contains("320 packets, 20480 bytes; 320 with good checksums"), run.out());
  }

  @ParameterizedTest
  @ValueSource(
      strings = {
        "--dmac 02:00:00:00:00:0a",
        "--smac 02:00:00:00:00:01 --ethertype 0x0800",
        "--sip 10.0.0.1 --dip 10.0.0.2",
        "--proto 17 --ttl 64",
        "--sport 4000 --dport 4000 --priority 7",
        "--rule all_default",
        "--rule sniffer"
      })
  void matchingSelectorsReceive(String options) throws Exception {
    FutureTask<Run> receiver = receiver(options + " -t 30 -n 3");
    run("packets send --dmac " + MAC + " -n 3").succeeded();
    assertTrue(receiver.get().succeeded().out().contains("\n3 packets, 192 bytes"));
  }

  @Test
  void otherSelectorsReceiveNothing() throws Exception {
    String[] options = {
      "--dmac 02:00:00:00:00:0b",
      "--smac 02:00:00:00:00:0a",
      "--ethertype 2054",
      "--vlan 0x5",
      "--sip 10.0.0.2",
      "--dip 10.0.0.1",
      "--proto 6",
      "--tos 8",
      "--ttl 63",
      "--sport 4001",
      "--dport 4001",
      "--dport 4000 --tcp",
      "--dport 4000 --priority 1",
      "--rule mc_default"
    };
    for (int i = 0; i < options.length; i++) {
      options[i] += " -t 2 -r 4";
    }
    FutureTask<Run> first = receiver("--dport 4000 -n 3 -t 30");
    List<FutureTask<Run>> others = receivers(options);
    run("packets send --dmac " + MAC + " -n 3").succeeded();
    first.get().succeeded();
    for (int i = 0; i < options.length; i++) {
      String out = others.get(i).get().succeeded().out();
      assertTrue(out.contains("\n0 packets, 0 bytes"), options[i] + "\n" + out);
    }
  }

  @Test
  void sentFramesAreComplete() throws InterruptedException {
    try (PacketPort port = PacketPort.on(device, 2).receives(8).open();
        PacketBuffers packets = port.packets(8).fragment(100, 0).create();
        FlowRule rule = port.flow().type(FlowType.SNIFFER).create()) {
      port.startReceiving(packets.receives(8));
      String line = "packets send --dmac " + MAC + " -n 2 -s 60 --sport 3000 --depth 1";
      assertTrue(run(line).succeeded().out().contains("checksums by Java"));
      run(line + " --offload").succeeded();
      assertEquals(4, port.awaitReceived(Await.LIMIT));
      byte[] expected = Frames.udp(MAC, 0x0a00_0001, 0x0a00_0002, 3000, 4000, 18);
      Arrays.fill(expected, 42, 60, (byte) 0);
      expected[49] = 1;
      byte[] second = packets.fragment(1, 0).asSlice(0, 60).toArray(ValueLayout.JAVA_BYTE);
      byte[] offloaded = packets.fragment(3, 0).asSlice(0, 60).toArray(ValueLayout.JAVA_BYTE);
      assertArrayEquals(Arrays.copyOfRange(second, 14, 42), ipOf(second), "checksum of IPv4 alone");
      assertArrayEquals(Arrays.copyOfRange(second, 14, 34), Arrays.copyOfRange(offloaded, 14, 34));
      assertTrue((offloaded[40] | offloaded[41]) != 0, "and of UDP");
      second[24] = 0;
      second[25] = 0;
      assertArrayEquals(expected, second);
      for (int i = 0; i < 4; i++) {
        assertEquals(60, port.received().byteLength(i));
        assertTrue(port.received().has(i, CompletionFlag.IP_CSUM_OK), "packet " + i);
      }
      assertTrue(rule.isOpen());
    }
  }

  private static byte[] ipOf(byte[] frame) {
    return Arrays.copyOfRange(frame, 14, 42);
  }

  @Test
  void checksumIsThatOfRfc1071() throws UnknownHostException {
    try (Arena arena = Arena.ofConfined()) {
      MemorySegment frame = arena.allocate(64);
      EthernetAddress mac = EthernetAddress.parse(MAC);
      Inet4Address from = (Inet4Address) InetAddress.getByName("255.255.255.255");
      Inet4Address to = (Inet4Address) InetAddress.getByName("192.168.0.199");
      new UdpFrame(mac, mac, from, to, 1, 2, 64).writeTo(frame);
      UdpFrame.putChecksum(frame);
      int sum = 0;
      for (int at = 14; at < 34; at += 2) {
        sum += Short.toUnsignedInt(Short.reverseBytes(frame.get(ValueLayout.JAVA_SHORT, at)));
      }
      assertEquals(0xffff, (sum & 0xffff) + (sum >>> 16));
    }
  }

  @ParameterizedTest
  @ValueSource(
      strings = {
        "receive",
        "receive --rule sniffer --dport 1",
        "receive --rule sniffer -n 0",
        "receive --rule sniffer --header 1518",
        "receive --rule sniffer -r 0",
        "receive --dmac 02:00",
        "receive --smac eth0",
        "receive --sip ::1",
        "receive --ethertype IPv4",
        "send",
        "send --dmac 02:00:00:00:00:0a -n 0",
        "send --dmac 02:00:00:00:00:0a -s 49",
        "send --dmac 02:00:00:00:00:0a -s 70000",
        "send --dmac 02:00:00:00:00:0a --dport 65536",
        "send --dmac 02:00:00:00:00:0a --dip ::1",
        "send --dmac 02:00:00:00:00:0a --depth 0"
      })
  void wrongUsageIsTwo(String line) {
    Run run = run("packets " + line);
    assertEquals(2, run.status(), run.err());
    assertTrue(run.err().contains("Try 'programs packets"), run.err());
  }

  @DeviceTest
  @On(SOFT_ROCE)
  void deviceWithoutRawPacketsIsReported() {
    Run receive = Run.of("packets", "receive", "-d", Rig.a().name(), "--rule", "sniffer");
    Run send = Run.of("packets", "send", "-d", Rig.a().name(), "--dmac", MAC);
    assertAll(
        () -> assertRefused("programs packets receive: ", receive),
        () -> assertRefused("programs packets send: ", send));
  }

  private static void assertRefused(String start, Run run) {
    assertEquals(Cli.UNSUPPORTED, run.status(), run.err());
    assertEquals("", run.out());
    assertEquals(1, run.err().lines().count(), run.err());
    assertTrue(run.err().startsWith(start), run.err());
    assertTrue(run.err().contains(Rig.a() + " does not support raw packets"), run.err());
  }
}
