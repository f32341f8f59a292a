package dev.verbena.verbs;

import static dev.verbena.testing.Need.KERNEL;
import static dev.verbena.testing.Need.ONE_HOST;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.verbena.address.Gid;
import dev.verbena.address.QueuePairAddress;
import dev.verbena.testing.Await;
import dev.verbena.testing.DeviceTest;
import dev.verbena.testing.Namespace;
import dev.verbena.testing.Needs;
import dev.verbena.testing.Program;
import dev.verbena.values.QueuePairCapacity;
import dev.verbena.values.QueuePairType;
import java.io.IOException;
import java.net.InetAddress;
import java.util.List;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;

/** A Soft-RoCE device with two VLANs, and network namespaces that share it or do not see it. */
@Needs(KERNEL)
class VlanTest {
  private static final String NAME = "rxvlan";
  private static final List<String> SUBNETS = List.of("10.81.10", "10.81.20");

  /** Runs commands of the shell; starting each from Java takes longer in a guest. */
  private static void run(String commands) throws Exception {
    try (Program program = Program.start("bash", "-ec", commands)) {
      program.endsWell();
    }
  }

  private static InetAddress address(String text) throws Exception {
    return InetAddress.getByName(text);
  }

  /**
   * Whether devices can be shared again: the kernel ends a namespace some time after its deletion.
   */
  private static boolean isShared() {
    try {
      return new ProcessBuilder("rdma", "system", "set", "netns", "shared").start().waitFor() == 0;
    } catch (IOException | InterruptedException e) {
      throw new AssertionError(e);
    }
  }

  @BeforeEach
  void addInterfaces() throws Exception {
    StringBuilder links = new StringBuilder("link add vlan0 type veth peer name vlan1\n");
    links.append("link set vlan0 up\nlink set vlan1 up\n");
    for (String subnet : SUBNETS) {
      String id = subnet.substring(subnet.lastIndexOf('.') + 1);
      String name = "vlan0." + id;
      links.append("link add link vlan0 name " + name + " type vlan id " + id + "\n");
      links.append("addr add " + subnet + ".1/24 dev " + name + "\n");
      links.append("link set " + name + " up\n");
    }
    run("ip -batch - <<END\n" + links + "END\nrdma link add " + NAME + " type rxe netdev vlan0");
    try (Context context = Device.named(NAME).open()) {
      for (String subnet : SUBNETS) {
        Gid gid = Gid.of(address(subnet + ".1"));
        Await.until(
            "GID " + gid,
            () -> context.gidTable().stream().anyMatch(entry -> entry.gid().equals(gid)));
      }
    }
  }

  @AfterEach
  void removeInterfaces() throws Exception {
    run("rdma link delete " + NAME + "; ip link del vlan0");
  }

  @DeviceTest
  void theGidIsThatOfTheVlanThatLeadsToThePeer() throws Exception {
    try (Context context = Device.named(NAME).open()) {
      for (String subnet : SUBNETS) {
        GidChoice choice = context.port(1).chooseGidToward(address(subnet + ".99"));
        assertEquals(Gid.of(address(subnet + ".1")), choice.gid(), choice::toString);
        assertEquals(
            "vlan0." + subnet.substring(subnet.lastIndexOf('.') + 1),
            choice.entry().networkInterface().orElseThrow().getName());
      }
    }
  }

  @DeviceTest
  void aPeerOfTheOtherVlanIsRefusedBeforeTraffic() throws Exception {
    try (Context context = Device.named(NAME).open()) {
      CompletionQueue completions = context.createCompletionQueue(4);
      QueuePair queuePair =
          QueuePair.builder(context.allocateProtectionDomain(), QueuePairType.RC)
              .completions(completions)
              .capacity(QueuePairCapacity.of(1))
              .create();
      Gid chosen = queuePair.localAddress().gid();
      String other = chosen.equals(Gid.of(address("10.81.10.1"))) ? "10.81.20.99" : "10.81.10.99";
      QueuePairAddress remote = QueuePairAddress.of(17, Gid.of(address(other)));
      var thrown = assertThrows(IllegalArgumentException.class, () -> queuePair.connect(remote));
      assertTrue(thrown.getMessage().contains("toward"), thrown.getMessage());
      queuePair.setup().toward(address(other));
      assertEquals(Gid.of(address(other.substring(0, 8) + ".1")), queuePair.localAddress().gid());
    }
  }

  @DeviceTest
  void gidsOfAnotherNamespaceAreNotChosen() throws Exception {
    run("ip netns add vlanhost");
    try {
      IllegalStateException hidden =
          Namespace.call(
              "vlanhost",
              () -> {
                try (Context context = Device.named(NAME).open()) {
                  return assertThrows(
                      IllegalStateException.class, () -> context.port(1).chooseGid());
                }
              });
      assertTrue(hidden.getMessage().contains("namespaces"), hidden.getMessage());
    } finally {
      run("ip netns del vlanhost");
    }
  }

  @DeviceTest
  @Needs(ONE_HOST)
  void aNamespaceWithoutTheDeviceSaysSo() throws Exception {
    run("rdma system set netns exclusive"); // Only possible without other namespaces.
    try {
      run("ip netns add vlanhost");
      boolean listed =
          Namespace.call(
              "vlanhost",
              () -> Device.list().stream().anyMatch(device -> device.name().equals(NAME)));
      assertFalse(listed);
    } finally {
      run("ip netns del vlanhost");
      Await.until("the end of the namespace", VlanTest::isShared);
    }
  }
}
