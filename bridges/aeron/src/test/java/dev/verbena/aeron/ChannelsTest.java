package dev.verbena.aeron;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.aeron.ExclusivePublication;
import io.aeron.Subscription;
import java.util.List;
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
    assertEquals(List.of(), publisher.errors);
    assertEquals(List.of(), subscriber.errors);
  }

  @Test
  void unicast() {
    String channel = Hosts.channel(Hosts.B);
    Subscription subscription = subscriber.subscribe(channel);
    ExclusivePublication publication = publisher.publish(channel);
    assertByRdma(new Stream(hosts, publication, subscription), publisher, 1);
    assertTrue(subscriber.count("RDMA receiver: ", "received by RDMA") >= 100);
    assertEquals(1, subscriber.count("RDMA receiver: ", "paths by RDMA"));
  }

  @Test
  void dynamicDestinations() {
    String control = "control=" + Hosts.endpoint(Hosts.A) + "|control-mode=dynamic";
    ExclusivePublication publication = publisher.publish("aeron:udp?" + control);
    Stream stream =
        new Stream(
            hosts,
            publication,
            subscriber.subscribe(Hosts.channel(Hosts.B) + "|" + control),
            subscriber.subscribe(Hosts.channel(Hosts.B) + "|" + control),
            publisher.subscribe(Hosts.channel(Hosts.A) + "|" + control));
    assertByRdma(stream, publisher, 3);
  }

  @Test
  void manualDestinationsOfAWildcardSocket() {
    String first = Hosts.channel(Hosts.B);
    String second = Hosts.channel(Hosts.A);
    ExclusivePublication publication = publisher.publish("aeron:udp?control-mode=manual");
    Stream stream =
        new Stream(hosts, publication, subscriber.subscribe(first), subscriber.subscribe(second));
    publication.addDestination(first);
    publication.addDestination(second);
    assertByRdma(stream, publisher, 2);
  }

  @Test
  void severalDestinationsOfASubscription() {
    String unused = Hosts.channel(Hosts.A);
    String channel = Hosts.channel(Hosts.B);
    Subscription subscription = subscriber.subscribe("aeron:udp?control-mode=manual");
    subscription.addDestination(unused);
    subscription.addDestination(channel);
    Stream stream = new Stream(hosts, publisher.publish(channel), subscription);
    assertByRdma(stream, publisher, 1);
    assertTrue(subscriber.count("RDMA receiver: ", "received by RDMA") >= 100);
    subscription.removeDestination(unused);
    stream.exchange(10);
  }

  @Test
  void aSubscriptionAtTheWildcardAddress() {
    String port = Hosts.endpoint("");
    Subscription subscription = subscriber.subscribe("aeron:udp?endpoint=0.0.0.0" + port);
    ExclusivePublication publication = publisher.publish("aeron:udp?endpoint=127.0.0.1" + port);
    assertByRdma(new Stream(hosts, publication, subscription), publisher, 1);
  }

  @Test
  void aPortThatTheSystemChooses() {
    Subscription subscription = subscriber.subscribe("aeron:udp?endpoint=127.0.0.2:0");
    hosts.until(() -> subscription.tryResolveChannelEndpointPort() != null);
    String channel = subscription.tryResolveChannelEndpointPort();
    assertByRdma(new Stream(hosts, publisher.publish(channel), subscription), publisher, 1);
  }

  @Test
  void ipv6() {
    hosts.addIpv6Device();
    String channel = Hosts.channel("[" + Hosts.SIX + "]");
    Subscription subscription = subscriber.subscribe(channel);
    assertByRdma(new Stream(hosts, publisher.publish(channel), subscription), publisher, 1);
  }

  @Test
  void responses() {
    String requests = Hosts.channel(Hosts.B);
    String answers = "aeron:udp?control-mode=response|control=" + Hosts.endpoint(Hosts.B);
    Subscription server = subscriber.subscribe(requests);
    Subscription client = publisher.subscribe(answers);
    ExclusivePublication request =
        publisher.publish(requests + "|response-correlation-id=" + client.registrationId());
    Stream stream = new Stream(hosts, request, server).connect();
    long image = server.imageBySessionId(request.sessionId()).correlationId();
    ExclusivePublication answer = subscriber.publish(answers + "|response-correlation-id=" + image);
    assertByRdma(stream, publisher, 1);
    assertByRdma(new Stream(hosts, answer, client), subscriber, 1);
  }

  @Test
  void aNameThatIsResolvedAgain() {
    hosts.addDevice("d", "127.0.0.3");
    String[] address = {Hosts.B};
    Node resolving = hosts.start((name, _, _) -> Hosts.address(address[0]));
    String port = Hosts.endpoint("");
    ExclusivePublication publication = resolving.publish("aeron:udp?endpoint=host" + port);
    Subscription first = subscriber.subscribe("aeron:udp?endpoint=" + Hosts.B + port);
    assertByRdma(new Stream(hosts, publication, first), resolving, 1);
    first.close();
    address[0] = "127.0.0.3";
    Subscription second = subscriber.subscribe("aeron:udp?endpoint=127.0.0.3" + port);
    hosts.until(() -> second.imageBySessionId(publication.sessionId()) != null);
    hosts.until(() -> resolving.count("RDMA sender: ", "paths by RDMA") == 1);
    long received = subscriber.count("RDMA receiver: ", "received by RDMA");
    hosts.until(() -> subscriber.count("RDMA receiver: ", "received by RDMA") > received + 5);
    assertEquals(List.of(), resolving.errors);
  }

  @Test
  void manyChannels() {
    Stream[] streams = new Stream[50];
    for (int i = 0; i < streams.length; i++) {
      String channel = Hosts.channel(Hosts.B);
      Subscription subscription = subscriber.subscribe(channel);
      streams[i] = new Stream(hosts, publisher.publish(channel), subscription).connect();
    }
    hosts.until(() -> publisher.count("RDMA sender: ", "paths by RDMA") == streams.length);
    long udp = publisher.count("RDMA sender: ", "sent by UDP");
    for (Stream stream : streams) {
      stream.exchange(10);
    }
    assertEquals(udp, publisher.count("RDMA sender: ", "sent by UDP"));
  }
}
