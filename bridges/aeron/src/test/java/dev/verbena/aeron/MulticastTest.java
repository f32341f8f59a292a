package dev.verbena.aeron;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.aeron.ExclusivePublication;
import io.aeron.Subscription;
import java.util.List;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

/** Multicast groups, which a rule makes groups of RDMA. */
class MulticastTest {
  private Hosts hosts;
  private Node publisher;
  private Node subscriber;
  private Node other;

  @BeforeEach
  void start() {
    System.setProperty(Rules.PROPERTY, "rdma-multicast 224.20.30.0/24");
    hosts = new Hosts();
    publisher = hosts.start();
    subscriber = hosts.start();
    other = hosts.start();
  }

  @AfterEach
  void close() {
    System.clearProperty(Rules.PROPERTY);
    hosts.close();
  }

  private static String channel() {
    return Hosts.channel("224.20.30.39") + "|interface=127.0.0.1";
  }

  private void assertByRdma(Stream stream) {
    hosts.until(() -> publisher.count("RDMA sender: ", "paths by RDMA") == 1);
    stream.exchange(10);
    long udp = publisher.count("RDMA sender: ", "sent by UDP");
    long rdma = publisher.count("RDMA sender: ", "sent by RDMA");
    stream.exchange(100);
    assertEquals(udp, publisher.count("RDMA sender: ", "sent by UDP"));
    assertTrue(publisher.count("RDMA sender: ", "sent by RDMA") >= rdma + 100);
    assertEquals(0, publisher.count("RDMA sender: ", "received by RDMA"));
    for (Node node : List.of(publisher, subscriber, other)) {
      assertEquals(List.of(), node.errors);
    }
  }

  @Test
  void eachMemberHasEveryMessage() {
    String channel = channel();
    ExclusivePublication publication = publisher.publish(channel);
    Subscription manual = other.subscribe("aeron:udp?control-mode=manual");
    manual.addDestination(channel);
    Stream stream = new Stream(hosts, publication, subscriber.subscribe(channel), manual).connect();
    assertByRdma(stream);
    assertTrue(subscriber.count("RDMA receiver: ", "received by RDMA") >= 100);
    assertTrue(other.count("RDMA receiver: ", "received by RDMA") >= 100);
  }

  @Test
  void groupsOfOtherPortsAreNotHeard() {
    String channel = channel();
    ExclusivePublication publication = publisher.publish(channel);
    Stream stream = new Stream(hosts, publication, subscriber.subscribe(channel)).connect();
    Subscription _ = other.subscribe(channel());
    assertByRdma(stream);
    assertEquals(0, other.count("RDMA receiver: ", "received by RDMA"));
  }

  @Test
  void aGroupWithoutADeviceIsByUdp() {
    String channel = channel();
    ExclusivePublication publication = publisher.publish(channel);
    Stream stream = new Stream(hosts, publication, subscriber.subscribe(channel)).connect();
    assertByRdma(stream);
    hosts.network.removeDevice("a");
    stream.exchange(100);
    assertEquals(0, publisher.count("RDMA sender: ", "paths by RDMA"));
    hosts.addDevice("a", Hosts.A);
    assertByRdma(stream);
  }
}
