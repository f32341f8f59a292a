package dev.verbena.aeron;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.aeron.ExclusivePublication;
import io.aeron.Subscription;
import io.aeron.exceptions.RegistrationException;
import java.net.InetSocketAddress;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;

class RulesTest {
  @AfterEach
  void clear() {
    System.clearProperty(Rules.PROPERTY);
  }

  private static Rules.Rule rule(String rules, String address, int port) {
    return Rules.of(rules).of(new InetSocketAddress(Hosts.address(address), port));
  }

  @Test
  void theFirstRuleThatMatchesCounts() {
    assertEquals(Rules.Rule.RDMA, rule("", "10.0.0.1", 1));
    assertEquals(Rules.Rule.UDP, rule("udp *", "10.0.0.1", 1));
    String rules =
        "udp 10.0.0.0/9:40-50; rdma-only 10.0.0.0/8 ; udp [fd00::]/16:7 ;; udp 1.2.3.4:*";
    assertEquals(Rules.Rule.UDP, rule(rules, "10.127.0.1", 40));
    assertEquals(Rules.Rule.UDP, rule(rules, "10.127.0.1", 50));
    assertEquals(Rules.Rule.RDMA_ONLY, rule(rules, "10.127.0.1", 51));
    assertEquals(Rules.Rule.RDMA_ONLY, rule(rules, "10.128.0.1", 40));
    assertEquals(Rules.Rule.RDMA, rule(rules, "11.0.0.1", 40));
    assertEquals(Rules.Rule.UDP, rule(rules, "fd00:1::2", 7));
    assertEquals(Rules.Rule.RDMA, rule(rules, "fd00:1::2", 8));
    assertEquals(Rules.Rule.RDMA, rule(rules, "fd01::2", 7));
    assertEquals(Rules.Rule.UDP, rule(rules, "1.2.3.4", 9));
  }

  @Test
  void aWrongRuleIsNamed() {
    for (String wrong :
        new String[] {
          "tcp *",
          "udp",
          "udp 10.0.0.0/33",
          "udp 10.0.0.1:9-8",
          "udp 1.2.3.400",
          "rdma *:70000",
          "udp host:1"
        }) {
      String message =
          assertThrows(IllegalArgumentException.class, () -> Rules.of(wrong)).getMessage();
      assertTrue(message.contains("\"" + wrong + "\""), message);
    }
  }

  @Test
  void noDriverStartsWithAWrongRule() {
    System.setProperty(Rules.PROPERTY, "tcp *");
    assertThrows(IllegalArgumentException.class, RdmaSendChannelEndpointSupplier::new);
    assertThrows(IllegalArgumentException.class, RdmaReceiveChannelEndpointSupplier::new);
  }

  @Test
  void multicastByRdmaIsOfGroupsOnly() {
    String rules = "rdma-multicast *; udp *";
    assertEquals(Rules.Rule.RDMA_MULTICAST, rule(rules, "239.0.0.1", 1));
    assertEquals(Rules.Rule.UDP, rule(rules, "10.0.0.1", 1));
    assertEquals(Rules.Rule.UDP, rule(rules, "ff02::1", 1));
  }

  @Test
  void rdmaOnlyFailsForMulticast() {
    System.setProperty(Rules.PROPERTY, "rdma-only *");
    try (Hosts hosts = new Hosts()) {
      Node node = hosts.start();
      String channel = Hosts.channel("224.20.30.39") + "|interface=127.0.0.1";
      for (Runnable opening :
          new Runnable[] {() -> node.publish(channel), () -> node.subscribe(channel)}) {
        String message = assertThrows(RegistrationException.class, opening::run).getMessage();
        assertTrue(message.contains("rdma-only: multicast is by UDP"), message);
      }
    }
  }

  @Test
  void rdmaOnlyFailsForDestinationsWithoutADevice() {
    System.setProperty(Rules.PROPERTY, "rdma-only *");
    try (Hosts hosts = new Hosts()) {
      Node subscriber = hosts.start();
      Subscription subscription = subscriber.subscribe("aeron:udp?control-mode=manual");
      String port = Hosts.endpoint("");
      String channel = "aeron:udp?endpoint=127.0.0.3" + port;
      String message =
          assertThrows(RegistrationException.class, () -> subscription.addDestination(channel))
              .getMessage();
      assertTrue(message.contains("rdma-only: 127.0.0.3: no RDMA device has this"), message);
      // The port is free, and the subscription goes on.
      Subscription _ = hosts.startStock().subscribe(channel);
      subscription.addDestination("aeron:udp?endpoint=127.0.0.2" + port);
      assertEquals(0, subscriber.count("sent by UDP"));
    }
  }

  @Test
  void udpIsNotLeft() {
    System.setProperty(Rules.PROPERTY, "udp 127.0.0.2");
    try (Hosts hosts = new Hosts()) {
      Node publisher = hosts.start();
      Node subscriber = hosts.start();
      String channel = Hosts.channel(Hosts.B);
      Stream stream =
          new Stream(hosts, publisher.publish(channel), subscriber.subscribe(channel)).connect();
      hosts.runFor(1000);
      stream.exchange(50);
      assertEquals(0, publisher.count("sent by RDMA"));
      assertEquals(0, subscriber.count("sent by RDMA"));
      assertTrue(publisher.count("sent by UDP") > 50);
    }
  }

  @Test
  void rdmaOnlyFailsWithoutADevice() {
    System.setProperty(Rules.PROPERTY, "rdma-only *");
    try (Hosts hosts = new Hosts()) {
      Node node = hosts.start();
      String endpoint = Hosts.endpoint("127.0.0.3");
      for (Runnable opening :
          new Runnable[] {
            () -> node.publish("aeron:udp?control=" + endpoint + "|control-mode=dynamic"),
            () -> node.subscribe("aeron:udp?endpoint=" + endpoint)
          }) {
        String message = assertThrows(RegistrationException.class, opening::run).getMessage();
        assertTrue(message.contains("rdma-only: 127.0.0.3: no RDMA device has this"), message);
      }
    }
  }

  @Test
  void rdmaOnlyReportsAPeerThatIsNotReached() {
    System.setProperty(Rules.PROPERTY, "rdma-only *");
    try (Hosts hosts = new Hosts()) {
      Node publisher = hosts.start();
      Node stock = hosts.startStock();
      String channel = Hosts.channel(Hosts.B);
      var _ = stock.subscribe(channel);
      ExclusivePublication publication = publisher.publish(channel);
      hosts.until(() -> !publisher.errors.isEmpty());
      assertTrue(publisher.errors.getFirst().getMessage().contains("the peer has not answered"));
      assertEquals(0, publisher.count("sent by UDP"));
      assertTrue(!publication.isConnected());
    }
  }
}
