package dev.verbena.messages;

import static dev.verbena.messages.Ends.Place.ROCE;
import static dev.verbena.messages.Ends.Place.SOFT;
import static dev.verbena.messages.Ends.Place.UDP;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.verbena.RdmaTimeoutException;
import dev.verbena.cm.ConnectionException;
import dev.verbena.messages.Ends.Place;
import dev.verbena.testing.Await;
import dev.verbena.testing.Background;
import dev.verbena.values.AccessFlag;
import dev.verbena.verbs.RemoteMemory;
import dev.verbena.verbs.WorkRequestException;
import java.time.Duration;
import java.util.Arrays;
import java.util.EnumSet;
import java.util.Set;
import java.util.concurrent.Callable;
import java.util.concurrent.FutureTask;
import java.util.stream.Collectors;

/**
 * How a connection ends: a row of the table in docs/connecting-background.md, and what makes it
 * come true.
 */
enum EndOfConnection {
  CLOSED(
      "the peer closes its `Connection`",
      Cells.MESSAGES,
      Cells.DISCONNECTED,
      EnumSet.allOf(Place.class),
      Ends::peerCloses),
  ENDED(
      "the peer's process ends without closing",
      Cells.DISCONNECTED,
      Cells.DISCONNECTED,
      EnumSet.allOf(Place.class),
      Ends::peerEnds),
  KILLED(
      "the peer's process is killed",
      Cells.DISCONNECTED,
      Cells.DISCONNECTED,
      EnumSet.of(ROCE),
      Ends::peerIsKilled),
  /** The device of a process that is killed ends with it. */
  KILLED_WITH_DEVICE(
      "the peer's process is killed, with a software device over UDP",
      Cells.WAITS,
      Cells.LOST,
      EnumSet.of(UDP),
      Ends::peerIsKilled),
  FOREIGN(
      "the peer's process ends, and is a C program or over iWARP",
      "null",
      Cells.DISCONNECTED,
      EnumSet.of(SOFT, ROCE),
      ends -> {
        throw new UnsupportedOperationException(
            "EndsOfConnectionsTest and DeadPeersTest, with a peer that is no Connection");
      }),
  REMOVED(
      "the device is removed",
      "`ConnectionException`, `DEVICE_REMOVAL`",
      "`ConnectionException`, `DEVICE_REMOVAL`",
      EnumSet.allOf(Place.class),
      Ends::deviceIsRemoved),
  FAILED(
      "a request fails, here an RDMA write with a wrong key",
      "`WorkRequestException`, `REM_ACCESS_ERR`",
      "`WorkRequestException`, `REM_ACCESS_ERR`",
      EnumSet.allOf(Place.class),
      ends ->
          ends.client()
              .postWrite(
                  ends.client().domain().allocateMemory(8, AccessFlag.LOCAL_WRITE),
                  0,
                  8,
                  RemoteMemory.at(4096, 8, 1),
                  0)),
  PARTITION(
      "the link or the network is interrupted",
      Cells.WAITS,
      Cells.LOST,
      EnumSet.allOf(Place.class),
      Ends::networkIsInterrupted),
  POWER("the peer's host fails", Cells.WAITS, Cells.LOST, EnumSet.of(SOFT), Ends::hostFails),
  RESTART(
      "the peer's host fails and starts again",
      Cells.WAITS,
      Cells.LOST,
      EnumSet.of(SOFT, UDP),
      Ends::hostStartsAgain),
  STOPPED(
      "the peer's host stops, as a virtual machine that is paused",
      Cells.WAITS,
      Cells.LOST,
      EnumSet.of(SOFT, UDP),
      Ends::hostStops),
  SILENT(
      "one of these four, with a keep-alive",
      Cells.SILENT,
      Cells.SILENT,
      EnumSet.allOf(Place.class),
      Ends::networkIsInterrupted) {
    @Override
    ConnectionSettings settings(Place place) {
      return place.settings.withKeepAlive(place.keepAlive);
    }
  },
  IDLE(
      "the peer's process stops, or does not call `receive()`",
      Cells.WAITS,
      "`WorkRequestException`, `RNR_RETRY_EXC_ERR`",
      EnumSet.allOf(Place.class),
      Ends::peerIsIdle),
  OWN(
      "another thread closes this end",
      "`IllegalStateException`",
      "`IllegalStateException`",
      EnumSet.allOf(Place.class),
      ends -> ends.client().close());

  /** What happens to a connection. */
  private interface Cause {
    void happen(Ends ends) throws Exception;
  }

  /** What several cells of the table say. */
  private static final class Cells {
    static final String MESSAGES = "the messages sent before, then null";
    static final String DISCONNECTED = "`ConnectionException`, `DISCONNECTED`";
    static final String LOST = "`WorkRequestException`, `RETRY_EXC_ERR`";
    static final String WAITS = "waits; with a `Duration`, `RdmaTimeoutException`";
    static final String SILENT = "`RdmaTimeoutException` that names the peer";

    private Cells() {}
  }

  private static final Duration SHORTLY = Duration.ofMillis(200);

  private final String condition;
  private final String receive;
  private final String send;
  private final Set<Place> places;
  private final Cause cause;

  EndOfConnection(
      String condition, String receive, String send, EnumSet<Place> places, Cause cause) {
    this.condition = condition;
    this.receive = receive;
    this.send = send;
    this.places = places;
    this.cause = cause;
  }

  /** The settings of the client. */
  ConnectionSettings settings(Place place) {
    return place.settings;
  }

  boolean happensAt(Place place) {
    return places.contains(place) && this != FOREIGN;
  }

  String line() {
    return "| " + String.join(" | ", condition, receive, send) + " |";
  }

  /** The line of docs/tested.md about the rows that run at a place. */
  static String line(Place place) {
    return Arrays.stream(values())
        .filter(row -> !row.places.contains(place))
        .map(row -> row.condition)
        .collect(Collectors.joining("; ", "| " + place.title + " | all but: ", " |"));
  }

  /** Lets it happen, and compares what operations of the client do with the cells. */
  void check(Ends ends) throws Exception {
    Connection client = ends.client();
    if (receive.equals(Cells.WAITS)) {
      cause.happen(ends);
      assertEquals(receive, outcome(ends.peer(), () -> client.receive(SHORTLY)));
    } else {
      ends.peerSends();
      FutureTask<String> receiving =
          Background.inBackground(() -> receivesUntilTheEnd(ends.peer(), client));
      Await.until("a message", () -> client.heard() > 0);
      cause.happen(ends);
      assertEquals(receive, receiving.get());
    }
    assertEquals(send, sendsUntilTheEnd(ends.peer(), client));
    if (!receive.equals(Cells.WAITS)) {
      String again = outcome(ends.peer(), () -> client.receive(Await.LIMIT));
      assertTrue(receive.endsWith(again), "a second time: " + again);
    }
  }

  private static String receivesUntilTheEnd(String peer, Connection connection) throws Exception {
    int received = 0;
    String outcome = outcome(peer, connection::receive);
    while (outcome.equals("a message")) {
      received++;
      outcome = outcome(peer, connection::receive);
    }
    return received == 1 && outcome.equals("null") ? Cells.MESSAGES : outcome;
  }

  static String sendsUntilTheEnd(String peer, Connection connection) throws Exception {
    String outcome;
    do {
      outcome =
          outcome(
              peer,
              () -> {
                connection.send(new byte[1]);
                return new byte[0];
              });
    } while (outcome.equals("a message"));
    return outcome;
  }

  private static String outcome(String peer, Callable<byte[]> operation) throws Exception {
    try {
      return operation.call() == null ? "null" : "a message";
    } catch (ConnectionException e) {
      return "`ConnectionException`, `" + e.event().type() + "`";
    } catch (WorkRequestException e) {
      return "`WorkRequestException`, `" + e.status() + "`";
    } catch (RdmaTimeoutException e) {
      return e.getMessage().contains(peer) && e.getMessage().contains("silent")
          ? Cells.SILENT
          : Cells.WAITS;
    } catch (IllegalStateException e) {
      return "`IllegalStateException`";
    }
  }
}
