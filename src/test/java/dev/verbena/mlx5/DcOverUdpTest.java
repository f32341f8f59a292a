package dev.verbena.mlx5;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import dev.verbena.address.Mtu;
import dev.verbena.soft.SoftNetwork;
import dev.verbena.testing.Program;
import dev.verbena.values.CompletionStatus;
import dev.verbena.verbs.AddressHandle;
import dev.verbena.verbs.QueuePair;
import dev.verbena.verbs.SendList;
import java.io.IOException;
import java.lang.foreign.MemorySegment;
import java.net.DatagramSocket;
import java.net.Inet6Address;
import java.net.InetAddress;
import java.net.NetworkInterface;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** DC between software devices over UDP. */
@Tag("host")
class DcOverUdpTest {
  private static final int LENGTH = 32 << 10;

  private SoftNetwork left;
  private SoftNetwork right;
  private DcSide one;
  private DcSide two;
  private QueuePair initiator;
  private AddressHandle handle;

  @BeforeEach
  void open() throws IOException {
    open("127.0.0.1", "127.0.0.2");
  }

  private void open(String leftAddress, String rightAddress) throws IOException {
    int port;
    try (DatagramSocket socket = new DatagramSocket()) {
      port = socket.getLocalPort();
    }
    left = SoftNetwork.of("udp:%s:%d,profile=connectx5".formatted(leftAddress, port));
    right = SoftNetwork.of("udp:%s:%d,profile=connectx5".formatted(rightAddress, port));
    one = new DcSide(left.device());
    two = new DcSide(right.device());
    initiator = one.newInitiator();
    initiator.setup().mtu(two.context.port(1).attributes().activeMtu());
    one.patient(initiator);
    handle = one.handleFor(two);
  }

  @AfterEach
  void close() {
    one.close();
    two.close();
    left.close();
    right.close();
  }

  private void post(SendList list, long key) {
    for (int i = 0; i < list.size(); i++) {
      list.toTarget(i, handle, two.target.number(), key);
    }
    list.signaled(list.size() - 1);
    assertEquals(list.size(), initiator.post(list));
  }

  @Test
  void messagesTravel() {
    exchange();
  }

  private void exchange() {
    one.memory.memory().setString(0, "over UDP");
    two.receive(1, 0, 64);
    two.receive(2, 1024, 64);
    SendList list = new SendList(4, 1);
    list.writeWithImmediate(0, 5)
        .local(one.memory, 0, 8192)
        .remote(two.memory.start() + 8192, two.memory.rkey());
    list.read(1)
        .local(one.memory, 16384, 8192)
        .remote(two.memory.start() + 8192, two.memory.rkey());
    list.fetchAndAdd(2, 1)
        .local(one.memory, 32768, 8)
        .remote(two.memory.start() + 32768, two.memory.rkey());
    list.send(3).local(one.memory, 0, 64);
    post(list, DcSide.KEY);
    assertEquals(5, two.completion().immediate(0));
    two.expect(CompletionStatus.SUCCESS);
    one.expect(CompletionStatus.SUCCESS);
    assertEquals("over UDP", two.memory.memory().getString(1024));
    assertEquals("over UDP", one.memory.memory().getString(16384));
  }

  /** The loopback interface has one address of IPv6: a machine with another one is required. */
  @Test
  void messagesTravelOverIpv6() throws IOException {
    Optional<InetAddress> other =
        NetworkInterface.networkInterfaces()
            .flatMap(NetworkInterface::inetAddresses)
            .filter(a -> a instanceof Inet6Address && !a.isLoopbackAddress())
            .filter(a -> !a.isLinkLocalAddress())
            .findFirst();
    assumeTrue(other.isPresent());
    close();
    open("[::1]", "[" + other.get().getHostAddress().replaceFirst("%.*", "") + "]");
    exchange();
  }

  /**
   * The longest headers are those of a whole WRITE with immediate data. Over IPv6, an MTU of 4200
   * leaves too little for them, and is the usual one for payloads of 4096 bytes.
   */
  @ParameterizedTest
  @CsvSource({"4200, MTU_4096, fd00::1, fd00::2", "4183, MTU_2048, 10.9.0.1, 10.9.0.2"})
  void theLongestHeadersPassAnyInterface(int mtu, String payload, String from, String to)
      throws Exception {
    int bits = from.contains(":") ? 128 : 32;
    String set =
        "ip link set lo mtu %1$d up && ip addr add %2$s/%4$d dev lo && ip addr add %3$s/%4$d dev lo"
            .formatted(mtu, from, to, bits);
    List<String> inNamespace = List.of("unshare", "--map-root-user", "--net", "sh", "-c");
    try (Program attempt = Program.start(Program.with(inNamespace, set))) {
      assumeTrue(attempt.exitStatus() == 0, attempt::text);
    }
    List<String> command = new ArrayList<>(inNamespace);
    command.add(set + " && exec \"$0\" \"$@\"");
    command.addAll(Program.java(LongHeaders.class, payload, from, to));
    try (Program program = Program.start(command)) {
      String _ = program.endsWell();
    }
  }

  /** Writes with immediate data from one address to another. */
  static final class LongHeaders {
    private LongHeaders() {}

    public static void main(String[] arguments) throws IOException {
      Mtu mtu = Mtu.valueOf(arguments[0]);
      DcOverUdpTest test = new DcOverUdpTest();
      test.open(literal(arguments[1]), literal(arguments[2]));
      assertEquals(mtu, test.one.context.port(1).attributes().activeMtu());
      test.two.receive(1, 0, 64);
      SendList list = new SendList(1, 1);
      list.writeWithImmediate(0, 5)
          .local(test.one.memory, 0, mtu.bytes())
          .remote(test.two.memory.start(), test.two.memory.rkey());
      test.post(list, DcSide.KEY);
      test.one.expect(CompletionStatus.SUCCESS);
      assertEquals(5, test.two.completion().immediate(0));
      test.close();
    }

    private static String literal(String address) {
      return address.contains(":") ? "[" + address + "]" : address;
    }
  }

  @Test
  void aWrongAccessKeyIsARemoteAccessError() {
    two.receive(1, 0, 64);
    SendList list = new SendList(1, 1);
    list.send(0).local(one.memory, 0, 64);
    post(list, DcSide.KEY + 1);
    one.expect(CompletionStatus.REM_ACCESS_ERR);
  }

  @Test
  void memoryIsTransferredThroughABadNetwork() {
    for (SoftNetwork network : List.of(left, right)) {
      network.faults().seed(5).loss(0.05).duplicate(0.05).reorder(0.05).corrupt(0.01);
    }
    SendList list = new SendList(2, 1);
    list.write(0).local(one.memory, 0, LENGTH).remote(two.memory.start(), two.memory.rkey());
    list.read(1).local(one.memory, LENGTH, LENGTH).remote(two.memory.start(), two.memory.rkey());
    for (int i = 1; i < 10; i++) {
      one.memory.memory().asSlice(0, LENGTH).fill((byte) i);
      post(list, DcSide.KEY);
      one.expect(CompletionStatus.SUCCESS);
      MemorySegment sent = one.memory.memory().asSlice(0, LENGTH);
      assertEquals(-1, sent.mismatch(two.memory.memory().asSlice(0, LENGTH)));
      assertEquals(-1, sent.mismatch(one.memory.memory().asSlice(LENGTH, LENGTH)));
    }
  }
}
