package dev.verbena.internal;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertSame;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import org.junit.jupiter.api.Test;

class HalfOpenRequestsTest {
  private static final Optional<InetSocketAddress> UNKNOWN = Optional.empty();

  private final HalfOpenRequests<Integer> requests = new HalfOpenRequests<>();
  private final List<HalfOpenRequests.Pending<Integer>> begun = new ArrayList<>();
  private int number;

  private static Optional<InetSocketAddress> peer(String address, int port) {
    return Optional.of(new InetSocketAddress(InetAddress.ofLiteral(address), port));
  }

  private void add(Optional<InetSocketAddress> peer, int count) {
    for (int i = 0; i < count; i++) {
      assertTrue(requests.add(peer, number++));
    }
  }

  /** Returns how many requests begin. */
  private int begin(int places) {
    int before = begun.size();
    requests.begin(() -> places, begun::add);
    return begun.size() - before;
  }

  @Test
  void eachSourceHasAPartOfTheLimit() {
    for (int port = 1; port <= 20; port++) {
      add(peer("2001:db8::1", port), 1);
    }
    add(UNKNOWN, 20);
    assertEquals(2 * HalfOpenRequests.LIMIT_OF_SOURCE, begin(100));
    add(peer("2001:db8::2", 1), 20);
    add(peer("192.0.2.1", 1), 20);
    add(peer("192.0.2.2", 1), 20);
    assertEquals(HalfOpenRequests.LIMIT - 2 * HalfOpenRequests.LIMIT_OF_SOURCE, begin(100));
  }

  @Test
  void othersDoNotTakeThePlacesOfASource() {
    add(peer("192.0.2.1", 1), 3);
    add(peer("192.0.2.2", 1), 3);
    assertEquals(2, begin(1));
    assertEquals(0, begin(0));
  }

  @Test
  void anEndFreesOnePlace() {
    add(UNKNOWN, 20);
    assertEquals(2, begin(2));
    requests.end(begun.getFirst());
    requests.end(begun.getFirst());
    assertEquals(1, begin(2));
  }

  @Test
  void aRequestThatCannotBeginTakesNoPlace() {
    add(UNKNOWN, 3);
    IllegalStateException failure = new IllegalStateException("expected");
    assertSame(
        failure,
        assertThrows(
            IllegalStateException.class,
            () ->
                requests.begin(
                    () -> 1,
                    _ -> {
                      throw failure;
                    })));
    assertEquals("0 half-open, 2 waiting", requests.toString());
    assertEquals(1, begin(1));
  }

  @Test
  void oneSourceDoesNotTakeTheWholeQueue() {
    add(peer("192.0.2.1", 1), HalfOpenRequests.WAITING / 2);
    assertFalse(requests.add(peer("192.0.2.1", 2), -1));
    add(peer("192.0.2.2", 1), HalfOpenRequests.WAITING / 2);
    assertFalse(requests.add(peer("192.0.2.3", 1), -1));
    assertEquals(HalfOpenRequests.WAITING, requests.removeWaiting().size());
    assertEquals(0, begin(1));
  }
}
