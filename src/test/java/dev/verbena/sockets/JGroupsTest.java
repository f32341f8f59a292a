package dev.verbena.sockets;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;

import dev.verbena.testing.AnyKernel;
import dev.verbena.testing.DeviceTest;
import dev.verbena.testing.Program;
import dev.verbena.testing.Rig;
import java.io.IOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.nio.channels.ServerSocketChannel;
import java.nio.channels.SocketChannel;
import java.nio.channels.spi.SelectorProvider;
import java.nio.file.Path;
import java.util.List;
import java.util.Random;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.LinkedBlockingQueue;
import org.jgroups.Address;
import org.jgroups.BytesMessage;
import org.jgroups.JChannel;
import org.jgroups.Message;
import org.jgroups.Receiver;
import org.jgroups.View;
import org.jgroups.protocols.FD_SOCK2;
import org.jgroups.protocols.FRAG2;
import org.jgroups.protocols.NAKACK4;
import org.jgroups.protocols.TCPPING;
import org.jgroups.protocols.TCP_NIO2;
import org.jgroups.protocols.UNICAST4;
import org.jgroups.protocols.VERIFY_SUSPECT2;
import org.jgroups.protocols.pbcast.GMS;
import org.jgroups.util.DefaultSocketFactory;
import org.junit.jupiter.api.BeforeEach;

/** A JGroups cluster over RDMA: {@code TCP_NIO2} with {@link RdmaSelectorProvider}. */
@AnyKernel
class JGroupsTest {
  private static final String CLUSTER = "rdma";
  private static final int PORT = 7800;
  private static final String JOINED = "has joined";

  /** In milliseconds. */
  private static final long PATIENCE = 200_000;

  /** The milliseconds in which a member that lives answers a suspicion. */
  private static final long ANSWER = 10_000;

  @BeforeEach
  void needsDeviceOfTheKernel() {
    Rig.softRoceOnly();
  }

  /** The sockets of JGroups' transport and of its failure detection. */
  private static final class RdmaSocketFactory extends DefaultSocketFactory {
    @Override
    public SelectorProvider getSelectorProvider() {
      return RdmaSelectorProvider.provider();
    }

    @Override
    public SocketChannel createSocketChannel(String service) throws IOException {
      return getSelectorProvider().openSocketChannel();
    }

    @Override
    public ServerSocketChannel createServerSocketChannel(String service) throws IOException {
      return getSelectorProvider().openServerSocketChannel();
    }
  }

  /** A member of the cluster. */
  private static final class Member implements Receiver, AutoCloseable {
    final BlockingQueue<Message> received = new LinkedBlockingQueue<>();
    final JChannel channel;
    private final boolean echoes;
    private volatile int size;

    /** Joins the members that answer in a time, or is the first one. */
    Member(InetAddress address, int port, long joinMillis, boolean echoes) throws Exception {
      this.echoes = echoes;
      TCP_NIO2 transport = new TCP_NIO2();
      transport.setBindAddress(address).setBindPort(port).setPortRange(0);
      transport.setClientBindAddr(address);
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
              // FD_SOCK2 now and then suspects a member that joins, over TCP, too.
              new VERIFY_SUSPECT2().setTimeout(ANSWER),
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
      Member member = new Member(Rig.addressB(), PORT + 1, PATIENCE, true);
      member.awaitView(3);
      System.out.println(JOINED);
      Thread.sleep(Long.MAX_VALUE);
    }
  }

  private static Program echo() throws IOException {
    String java = Path.of(System.getProperty("java.home"), "bin", "java").toString();
    return Program.start(
        java,
        "--enable-native-access=ALL-UNNAMED",
        "-XX:TieredStopAtLevel=1",
        "-cp",
        System.getProperty("java.class.path"),
        EchoMain.class.getName());
  }

  private static byte[] bytes(Message message) {
    byte[] bytes = new byte[message.getLength()];
    System.arraycopy(message.getArray(), message.getOffset(), bytes, 0, bytes.length);
    return bytes;
  }

  @DeviceTest
  void clusterOfThreeLosesAMember() throws Exception {
    try (Member first = new Member(Rig.addressA(), PORT, 1, false);
        Member second = new Member(Rig.addressB(), PORT, PATIENCE, false);
        Program third = echo()) {
      first.awaitView(3);
      second.awaitView(3);
      third.says(JOINED); // A member drops messages of members that it does not know yet.
      Address self = first.channel.getAddress();
      for (int size = 1; size <= 1 << 20; size <<= 4) {
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
      third.kill();
      first.awaitView(2);
      second.awaitView(2);
      first.channel.send(new BytesMessage(second.channel.getAddress(), new byte[100]));
      assertEquals(100, second.received.take().getLength());
    }
  }
}
