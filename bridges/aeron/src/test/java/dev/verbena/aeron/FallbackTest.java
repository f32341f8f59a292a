package dev.verbena.aeron;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.aeron.ExclusivePublication;
import io.aeron.Subscription;
import java.util.List;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;

/** What happens to streams when RDMA is not possible, or not any more. */
class FallbackTest {
  private final String channel = Hosts.channel(Hosts.B);
  private final Hosts hosts = new Hosts();
  private final Node publisher = hosts.start();

  @AfterEach
  void close() {
    hosts.close();
  }

  private Stream stream(ExclusivePublication publication, Node subscriber) {
    Subscription subscription = subscriber.subscribe(channel);
    return new Stream(hosts, publication, subscription).connect();
  }

  private long paths() {
    return publisher.count("RDMA sender: ", "paths by RDMA");
  }

  private long udp() {
    return publisher.count("RDMA sender: ", "sent by UDP");
  }

  private void assertByRdma(Stream stream) {
    hosts.until(() -> paths() == 1);
    stream.exchange(10);
    long udp = udp();
    stream.exchange(50);
    assertEquals(udp, udp());
  }

  @Test
  void aPeerWithoutTheBridgeIsReachedByUdpUntilItHasIt() {
    Node stock = hosts.startStock();
    ExclusivePublication publication = publisher.publish(channel);
    stream(publication, stock).exchange(100);
    assertEquals(0, paths());
    assertEquals(0, stock.count("", "Invalid packets"));
    hosts.stop(stock);
    hosts.until(() -> !publication.isConnected());
    assertByRdma(stream(publication, hosts.start()));
  }

  @Test
  void aPeerThatIsStartedAgainIsFoundAgain() {
    ExclusivePublication publication = publisher.publish(channel);
    Node first = hosts.start();
    assertByRdma(stream(publication, first));
    hosts.stop(first);
    hosts.until(() -> paths() == 0);
    Node second = hosts.start();
    Subscription subscription = second.subscribe(channel);
    hosts.until(() -> subscription.imageBySessionId(publication.sessionId()) != null);
    hosts.until(() -> paths() == 1);
    hosts.stop(second);
    Node stock = hosts.startStock();
    Subscription byUdp = stock.subscribe(channel);
    hosts.until(() -> byUdp.imageBySessionId(publication.sessionId()) != null && paths() == 0);
  }

  @Test
  void framesThatAreTooLongStayOnUdpFromTheFirstOne() {
    Node subscriber = hosts.start(8192);
    Node wide = hosts.start(8192);
    Stream stream =
        new Stream(hosts, wide.publish(channel), subscriber.subscribe(channel)).connect();
    hosts.until(() -> wide.count("because of the MTU") == 1);
    stream.exchange(100);
    assertEquals(0, wide.count("RDMA sender: ", "sent by RDMA"));
    assertEquals(0, wide.count("", "NAKs received"));
    assertTrue(subscriber.count("RDMA receiver: ", "sent by RDMA") > 0);
  }

  @Test
  void aPartitionOfRdmaOnlyEndsThePathAndTheNextOneIsFoundAfterIt() {
    Stream stream = stream(publisher.publish(channel), hosts.start());
    assertByRdma(stream);
    hosts.network.faults().partition("a", "b");
    long start = System.nanoTime();
    stream.exchange(100);
    System.out.printf("after a partition: %d ms%n", (System.nanoTime() - start) / 1_000_000);
    assertEquals(1, publisher.count("RDMA sender: ", "went back to UDP"));
    stream.exchange(100);
    assertEquals(0, paths());
    hosts.network.faults().none();
    assertByRdma(stream);
  }

  @Test
  void aDeviceThatIsLostIsLeftAndOpenedAgain() {
    Node subscriber = hosts.start();
    Stream stream = stream(publisher.publish(channel), subscriber);
    assertByRdma(stream);
    for (String name : List.of("b", "a")) {
      hosts.network.removeDevice(name);
      stream.exchange(100);
      assertEquals(0, paths());
      hosts.addDevice(name, name.equals("a") ? Hosts.A : Hosts.B);
      assertByRdma(stream);
    }
    assertEquals(List.of(), publisher.errors);
    assertEquals(List.of(), subscriber.errors);
  }

  @Test
  void lossDuplicatesAndReorderingAreRepairedByAeron() {
    Stream stream = stream(publisher.publish(channel), hosts.start());
    assertByRdma(stream);
    hosts.network.faults().seed(7).loss(0.01).duplicate(0.01).reorder(0.01);
    long udp = udp();
    stream.exchange(2000);
    assertEquals(udp, udp());
    assertEquals(0, publisher.count("went back to UDP"));
    hosts.network.faults().none().strict();
    stream.exchange(500);
    assertEquals(udp, udp());
  }

  @Test
  void everyVerbMayFail() {
    for (String verb : List.of("ibv_create_ah", "ibv_create_qp", "ibv_reg_mr", "ibv_modify_qp")) {
      Node subscriber = hosts.start();
      hosts.network.faults().fail(verb, 1, dev.verbena.Errno.ENOMEM);
      ExclusivePublication publication = publisher.publish(channel);
      Stream stream = stream(publication, subscriber);
      stream.exchange(20);
      hosts.stop(subscriber);
      publication.close();
    }
    assertEquals(List.of(), publisher.errors);
  }
}
