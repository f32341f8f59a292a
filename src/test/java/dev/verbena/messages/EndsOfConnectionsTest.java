package dev.verbena.messages;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.verbena.cm.ConnectionParameters;
import dev.verbena.cm.Endpoint;
import dev.verbena.cm.Listener;
import dev.verbena.messages.Ends.Place;
import dev.verbena.soft.InSimulation;
import dev.verbena.soft.SoftHosts;
import dev.verbena.testing.Await;
import dev.verbena.testing.Background;
import dev.verbena.values.QueuePairCapacity;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.List;
import java.util.concurrent.FutureTask;
import java.util.stream.Stream;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;
import org.junit.jupiter.params.provider.MethodSource;

/**
 * How a connection ends: each row of the table in docs/connecting-background.md is run between
 * software devices, in process and over UDP, and its cells are what was seen. {@link
 * EndsOnRoceTest} runs rows on Soft-RoCE.
 */
class EndsOfConnectionsTest {
  private static final Path PAGE = Path.of("docs/connecting-background.md");
  private static final String HEAD = "| condition | `receive()` | `send()`";

  static Stream<EndOfConnection> inProcess() {
    return Arrays.stream(EndOfConnection.values()).filter(row -> row.happensAt(Place.SOFT));
  }

  @ParameterizedTest
  @MethodSource("inProcess")
  @InSimulation
  void endsAsTheTableSays(EndOfConnection row) throws Exception {
    try (Ends ends = new EndsInProcess(row.settings(Place.SOFT))) {
      row.check(ends);
    }
  }

  static Stream<EndOfConnection> overUdp() {
    return Arrays.stream(EndOfConnection.values()).filter(row -> row.happensAt(Place.UDP));
  }

  @ParameterizedTest
  @MethodSource("overUdp")
  @Tag("slow")
  void endsAsTheTableSaysOverUdp(EndOfConnection row) throws Exception {
    try (Ends ends = new EndsOverUdp(row.settings(Place.UDP))) {
      row.check(ends);
    }
  }

  /** A peer that is no Connection cannot say that it closes in order. */
  @Test
  @InSimulation
  void peerThatIsNoConnectionEndsTheReceiveWithNull() throws Exception {
    try (SoftHosts hosts = SoftHosts.create();
        Listener listener =
            hosts.call(() -> Listener.open(new InetSocketAddress(hosts.serverAddress(), 0)))) {
      FutureTask<Endpoint> accepting = Background.inBackground(() -> acceptPlainly(listener));
      InetSocketAddress address = listener.address().orElseThrow();
      InetSocketAddress from = new InetSocketAddress(InetAddress.ofLiteral("192.0.2.1"), 0);
      try (Connection client =
          hosts.call(
              () -> Connection.connect(address, Place.SOFT.settings.withLocalAddress(from)))) {
        FutureTask<byte[]> receiving = Background.inBackground(() -> client.receive());
        accepting.get().close();
        assertEquals(null, receiving.get());
        assertEquals(
            "`ConnectionException`, `DISCONNECTED`",
            EndOfConnection.sendsUntilTheEnd("192.0.2.2", client));
      }
    }
  }

  private static Endpoint acceptPlainly(Listener listener) throws Exception {
    Endpoint request = listener.take();
    request.id().queues().createQueuePair(QueuePairCapacity.of(4));
    request.accept(ConnectionParameters.DEFAULT, new byte[0], Await.LIMIT);
    return request;
  }

  @Test
  void theTableIsThatOfThePage() throws Exception {
    List<String> lines = Files.readAllLines(PAGE);
    int head = 0;
    while (!lines.get(head).startsWith(HEAD)) {
      head++;
    }
    List<String> expected =
        Arrays.stream(EndOfConnection.values()).map(EndOfConnection::line).toList();
    int end = head + 2 + expected.size();
    assertEquals(String.join("\n", expected), String.join("\n", lines.subList(head + 2, end)));
    assertEquals("", lines.get(end), "the end of the table");
  }

  @ParameterizedTest
  @EnumSource(Place.class)
  void whatRunsAtAPlaceIsSaid(Place place) throws Exception {
    String line = EndOfConnection.line(place);
    assertTrue(Files.readAllLines(Path.of("docs/tested.md")).contains(line), line);
  }
}
