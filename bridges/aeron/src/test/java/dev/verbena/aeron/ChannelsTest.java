package dev.verbena.aeron;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.aeron.ExclusivePublication;
import io.aeron.Subscription;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;

/** Each kind of unicast channel between two drivers, by RDMA. */
class ChannelsTest {
  private final Hosts hosts = new Hosts();
  private final Node publisher = hosts.start();
  private final Node subscriber = hosts.start();

  @AfterEach
  void close() {
    hosts.close();
  }

  /** Exchanges messages until paths are found; then all go by RDMA. */
  private void assertByRdma(Stream stream, Node sender, int paths) {
    stream.connect();
    hosts.until(() -> sender.count("RDMA sender: ", "paths by RDMA") == paths);
    stream.exchange(10);
    long udp = sender.count("RDMA sender: ", "sent by UDP");
    long rdma = sender.count("RDMA sender: ", "sent by RDMA");
    stream.exchange(100);
    assertEquals(udp, sender.count("RDMA sender: ", "sent by UDP"));
    assertTrue(sender.count("RDMA sender: ", "sent by RDMA") >= rdma + 100L * paths);
    assertEquals(0, sender.count("dropped"));
    assertEquals(java.util.List.of(), publisher.errors);
    assertEquals(java.util.List.of(), subscriber.errors);
  }

  @Test
  void unicast() {
    Subscription subscription = subscriber.subscribe("aeron:udp?endpoint=127.0.0.2:24001");
    ExclusivePublication publication = publisher.publish("aeron:udp?endpoint=127.0.0.2:24001");
    assertByRdma(new Stream(hosts, publication, subscription), publisher, 1);
    assertTrue(subscriber.count("RDMA receiver: ", "received by RDMA") >= 100);
    assertEquals(1, subscriber.count("RDMA receiver: ", "paths by RDMA"));
  }

  @Test
  void dynamicDestinations() {
    String control = "control=127.0.0.1:24002|control-mode=dynamic";
    ExclusivePublication publication = publisher.publish("aeron:udp?" + control);
    Stream stream =
        new Stream(
            hosts,
            publication,
            subscriber.subscribe("aeron:udp?endpoint=127.0.0.2:24003|" + control),
            subscriber.subscribe("aeron:udp?endpoint=127.0.0.2:24004|" + control),
            publisher.subscribe("aeron:udp?endpoint=127.0.0.1:24005|" + control));
    assertByRdma(stream, publisher, 3);
  }

  @Test
  void manualDestinationsOfAWildcardSocket() {
    ExclusivePublication publication = publisher.publish("aeron:udp?control-mode=manual");
    Stream stream =
        new Stream(
            hosts,
            publication,
            subscriber.subscribe("aeron:udp?endpoint=127.0.0.2:24006"),
            subscriber.subscribe("aeron:udp?endpoint=127.0.0.1:24007"));
    publication.addDestination("aeron:udp?endpoint=127.0.0.2:24006");
    publication.addDestination("aeron:udp?endpoint=127.0.0.1:24007");
    assertByRdma(stream, publisher, 2);
  }

  @Test
  void severalDestinationsOfASubscription() {
    Subscription subscription = subscriber.subscribe("aeron:udp?control-mode=manual");
    subscription.addDestination("aeron:udp?endpoint=127.0.0.1:24009");
    subscription.addDestination("aeron:udp?endpoint=127.0.0.2:24008");
    Stream stream =
        new Stream(hosts, publisher.publish("aeron:udp?endpoint=127.0.0.2:24008"), subscription);
    assertByRdma(stream, publisher, 1);
    assertTrue(subscriber.count("RDMA receiver: ", "received by RDMA") >= 100);
    subscription.removeDestination("aeron:udp?endpoint=127.0.0.1:24009");
    stream.exchange(10);
  }

  @Test
  void aSubscriptionAtTheWildcardAddress() {
    Subscription subscription = subscriber.subscribe("aeron:udp?endpoint=0.0.0.0:24010");
    ExclusivePublication publication = publisher.publish("aeron:udp?endpoint=127.0.0.1:24010");
    assertByRdma(new Stream(hosts, publication, subscription), publisher, 1);
  }

  @Test
  void manyChannels() {
    Stream[] streams = new Stream[12];
    for (int i = 0; i < streams.length; i++) {
      String channel = "aeron:udp?endpoint=127.0.0.2:" + (24020 + i);
      Subscription subscription = subscriber.subscribe(channel);
      streams[i] = new Stream(hosts, publisher.publish(channel), subscription).connect();
    }
    hosts.until(() -> publisher.count("RDMA sender: ", "paths by RDMA") == streams.length);
    long udp = publisher.count("RDMA sender: ", "sent by UDP");
    for (Stream stream : streams) {
      stream.exchange(20);
    }
    assertEquals(udp, publisher.count("RDMA sender: ", "sent by UDP"));
  }
}
