package dev.verbena.sockets;

import static dev.verbena.testing.Environment.TRIXIE;
import static dev.verbena.testing.Need.CM;
import static dev.verbena.testing.Need.PEERS;
import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;

import dev.verbena.testing.Await;
import dev.verbena.testing.DeviceTest;
import dev.verbena.testing.ForkedJvm;
import dev.verbena.testing.Needs;
import dev.verbena.testing.Once;
import dev.verbena.testing.Program;
import dev.verbena.testing.Rig;
import java.io.IOException;
import java.net.DatagramSocket;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.StandardSocketOptions;
import java.nio.channels.ServerSocketChannel;
import java.nio.channels.SocketChannel;
import java.nio.channels.spi.SelectorProvider;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collection;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.stream.Collectors;
import org.jgroups.Address;
import org.jgroups.BytesMessage;
import org.jgroups.Event;
import org.jgroups.JChannel;
import org.jgroups.Message;
import org.jgroups.Receiver;
import org.jgroups.View;
import org.jgroups.conf.ClassConfigurator;
import org.jgroups.protocols.FD_SOCK2;
import org.jgroups.protocols.FRAG2;
import org.jgroups.protocols.NAKACK4;
import org.jgroups.protocols.TCPPING;
import org.jgroups.protocols.TCP_NIO2;
import org.jgroups.protocols.UNICAST4;
import org.jgroups.protocols.VERIFY_SUSPECT2;
import org.jgroups.protocols.pbcast.GMS;
import org.jgroups.util.DefaultSocketFactory;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.opentest4j.TestAbortedException;

/** A JGroups cluster over RDMA: {@code TCP_NIO2} with {@link RdmaSelectorProvider}. */
@Needs({CM, PEERS})
@Once(value = TRIXIE, reason = "JGroups over RdmaSelectorProvider, the same, between processes")
class JGroupsTest {
  private static final String CLUSTER = "rdma";
  private static final int PORT = 7800;
  private static final String JOINED = "has joined";

  /** In milliseconds. */
  private static final int LIMIT = (int) Await.LIMIT.toMillis();

  /** The sockets of JGroups' transport and of its failure detection. */
  private static final class RdmaSocketFactory extends DefaultSocketFactory {
    @Override
    public SelectorProvider getSelectorProvider() {
      return RdmaSelectorProvider.provider();
    }

    @Override
    public SocketChannel createSocketChannel(String service) throws IOException {
      SocketChannel channel = getSelectorProvider().openSocketChannel();
      // No kernel tells that a process with devices over UDP was killed.
      channel.setOption(StandardSocketOptions.SO_KEEPALIVE, true);
      return channel.setOption(ChannelBehaviour.keepaliveTime(channel), 1);
    }

    @Override
    public ServerSocketChannel createServerSocketChannel(String service) throws IOException {
      return getSelectorProvider().openServerSocketChannel();
    }
  }

  /**
   * Takes no member that is suspected for dead, however slowly it answers, but the one that the
   * test has killed. FD_SOCK2 suspects a member that does not accept its connection within a
   * second; it repeats a suspicion until a view without that member.
   */
  private static final class Verification extends VERIFY_SUSPECT2 {
    private volatile Address killed;

    Verification() {
      setId(ClassConfigurator.getProtocolId(VERIFY_SUSPECT2.class));
      setTimeout(LIMIT);
    }

    void takeForDead(Address member) {
      killed = member;
    }

    /** Without a wait for an answer, also if the member was suspected before it was killed. */
    @Override
    public Object up(Event event) {
      if (killed != null
          && event.getType() == Event.SUSPECT
          && event.<Collection<Address>>arg().contains(killed)) {
        return up_prot.up(new Event(Event.SUSPECT, List.of(killed)));
      }
      return super.up(event);
    }
  }

  /** A member of the cluster. */
  private static final class Member implements Receiver, AutoCloseable {
    final BlockingQueue<Message> received = new LinkedBlockingQueue<>();
    final Verification verification = new Verification();
    final JChannel channel;
    private final boolean echoes;
    private volatile int size;

    /** Joins the members that answer in a time, or is the first one. */
    Member(InetAddress address, int port, long joinMillis, boolean echoes) throws Exception {
      this.echoes = echoes;
      TCP_NIO2 transport = new TCP_NIO2();
      transport.setBindAddress(address).setBindPort(port).setPortRange(0);
      transport.setClientBindAddr(address);
      transport.setSockConnTimeout(LIMIT).setPeerAddrReadTimeout(LIMIT);
      transport.setSocketFactory(new RdmaSocketFactory());
      transport.disableDiagnostics();
      TCPPING discovery = new TCPPING();
      discovery.initialHosts(List.of(new InetSocketAddress(Rig.addressA(), PORT)));
      discovery.portRange(0);
      channel =
          new JChannel(
              transport,
              discovery,
              new FD_SOCK2().setBindAddress(address),
              verification,
              new NAKACK4().useMcastXmit(false),
              new UNICAST4(),
              new GMS().setJoinTimeout(joinMillis).printLocalAddress(false),
              new FRAG2());
      channel.setReceiver(this);
      channel.connect(CLUSTER);
    }

    @Override
    public void receive(Message message) {
      if (!echoes) {
        received.add(message);
        return;
      }
      try {
        channel.send(new BytesMessage(message.src(), bytes(message)));
      } catch (Exception e) {
        throw new AssertionError(e);
      }
    }

    @Override
    public synchronized void viewAccepted(View view) {
      size = view.size();
      notifyAll();
    }

    synchronized void awaitView(int members) throws InterruptedException {
      while (size != members) {
        wait();
      }
    }

    @Override
    public void close() {
      channel.close();
    }
  }

  /** A member that sends each message back to its sender, until it is killed. */
  static final class EchoMain {
    private EchoMain() {}

    public static void main(String[] args) throws Exception {
      Member member = new Member(Rig.addressB(), PORT + 1, LIMIT, true);
      member.awaitView(3);
      System.out.println(JOINED);
      Await.pass(Duration.ofDays(1), "until it is killed");
    }
  }

  /** The first two members, with software devices of this process; the third has its own. */
  static final class TwoMembersMain {
    private TwoMembersMain() {}

    /** The arguments are the variables of the third member: a name, then its value. */
    public static void main(String[] args) throws Exception {
      Map<String, String> variables = new HashMap<>();
      for (int i = 0; i < args.length; i += 2) {
        variables.put(args[i], args[i + 1]);
      }
      loseAMember(variables);
      System.exit(0); // Threads of JGroups.
    }
  }

  private static Program third(Map<String, String> variables) throws IOException {
    ProcessBuilder builder =
        new ProcessBuilder(Program.java(List.of("-XX:TieredStopAtLevel=1"), EchoMain.class));
    builder.environment().putAll(variables);
    return Program.start(builder);
  }

  private static byte[] bytes(Message message) {
    byte[] bytes = new byte[message.getLength()];
    System.arraycopy(message.getArray(), message.getOffset(), bytes, 0, bytes.length);
    return bytes;
  }

  @DeviceTest
  void clusterOfThreeLosesAMember() throws Exception {
    loseAMember(Map.of());
  }

  /** Each process has devices of its own, which reach those of the other. */
  @Test
  @Tag("host")
  @Tag("slow")
  void clusterOfTwoProcessesOverUdp() throws Exception {
    int port;
    try (DatagramSocket socket = new DatagramSocket(0)) {
      port = socket.getLocalPort();
    }
    ForkedJvm two =
        new ForkedJvm()
            .withNativeAccess()
            .with("-XX:TieredStopAtLevel=1")
            .withJarOf(JChannel.class)
            .withJarOf(Test.class)
            .withJarOf(TestAbortedException.class);
    udp(port, "127.0.0.2", "127.0.0.3", "127.0.0.2", "127.0.0.3").forEach(two::withVariable);
    List<String> third = new ArrayList<>();
    udp(port, "127.0.0.4", "127.0.0.2", "127.0.0.4")
        .forEach((name, value) -> third.addAll(List.of(name, value)));
    two.run(TwoMembersMain.class, third.toArray(String[]::new)).succeeded();
  }

  /** The variables of a process; the last two addresses are those of the first and of its own. */
  private static Map<String, String> udp(int port, String... addresses) {
    int devices = addresses.length - 2;
    return Map.of(
        "VERBENA_SOFT",
        Arrays.stream(addresses, 0, devices)
            .map(address -> "udp:%s:%d".formatted(address, port))
            .collect(Collectors.joining(",")),
        "VERBENA_ADDRESS_A",
        addresses[devices],
        "VERBENA_ADDRESS_B",
        addresses[devices + 1]);
  }

  private static void loseAMember(Map<String, String> variablesOfThird) throws Exception {
    try (Member first = new Member(Rig.addressA(), PORT, 1, false);
        Member second = new Member(Rig.addressB(), PORT, LIMIT, false);
        Program third = third(variablesOfThird)) {
      first.awaitView(3);
      second.awaitView(3);
      third.says(JOINED); // A member drops messages of members that it does not know yet.
      Address self = first.channel.getAddress();
      for (int size = 1; size <= 1 << 16; size <<= 4) {
        byte[] sent = new byte[size];
        new Random(size).nextBytes(sent);
        first.channel.send(new BytesMessage(null, sent));
        assertArrayEquals(sent, bytes(second.received.take()));
        // Its own message, and the answer of the third.
        Message one = first.received.take();
        Message other = first.received.take();
        assertArrayEquals(sent, bytes(one));
        assertArrayEquals(sent, bytes(other));
        assertEquals(1, List.of(one, other).stream().filter(m -> m.src().equals(self)).count());
      }
      first.verification.takeForDead(first.channel.getView().getMembers().getLast());
      third.kill();
      first.awaitView(2);
      second.awaitView(2);
      first.channel.send(new BytesMessage(second.channel.getAddress(), new byte[100]));
      assertEquals(100, second.received.take().getLength());
    }
  }
}
