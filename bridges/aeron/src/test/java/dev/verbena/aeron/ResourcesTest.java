package dev.verbena.aeron;

import static org.junit.jupiter.api.Assertions.assertEquals;

import io.aeron.ExclusivePublication;
import io.aeron.Subscription;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;

/** What channels take, and give back. */
class ResourcesTest {
  /** By hand: 10,000. */
  private static final int CYCLES = Integer.getInteger("cycles", 20);

  private static final String HANDLES = "address handle";

  private final Hosts hosts = new Hosts();
  private final Node publisher = hosts.start();
  private final Node subscriber = hosts.start();

  @AfterEach
  void close() {
    hosts.close();
  }

  @Test
  void channelsThatAreClosedLeaveNothing() {
    cycle();
    hosts.until(() -> !openObjects().containsKey(HANDLES)); // They are closed a little later.
    Map<String, Integer> before = openObjects();
    for (int i = 0; i < CYCLES; i++) {
      cycle();
    }
    hosts.until(() -> !openObjects().containsKey(HANDLES));
    assertEquals(before, openObjects());
    assertEquals(0, publisher.count("paths by RDMA"));
    assertEquals(0, subscriber.count("paths by RDMA"));
    assertEquals(List.of(), publisher.errors);
    assertEquals(List.of(), subscriber.errors);
  }

  private void cycle() {
    String channel = Hosts.channel(Hosts.B) + "|linger=0";
    try (Subscription subscription = subscriber.subscribe(channel);
        ExclusivePublication publication = publisher.publish(channel)) {
      new Stream(hosts, publication, subscription).connect().exchange(3);
      hosts.until(() -> publisher.count("RDMA sender: ", "paths by RDMA") == 1);
    }
    hosts.until(() -> publisher.count("paths by RDMA") + subscriber.count("paths by RDMA") == 0);
  }

  /** Returns what is open once the worker has done what it was given. */
  private Map<String, Integer> openObjects() {
    return Worker.call(hosts.network::openObjects);
  }

  @Test
  void devicesAreClosedThatNobodyUsesAnyMore() {
    cycle();
    hosts.stop(publisher);
    hosts.stop(subscriber);
    Devices.use(List::of);
    assertEquals(Map.of(), openObjects());
  }
}
