package dev.verbena.simulated;

import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.verbena.sockets.RdmaSockets;
import dev.verbena.soft.Simulation;
import dev.verbena.soft.SoftHosts;
import java.net.InetSocketAddress;
import java.net.StandardProtocolFamily;
import java.nio.ByteBuffer;
import java.nio.channels.SocketChannel;
import java.time.Duration;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.condition.EnabledForJreRange;

/** Streams of bytes whose ends write, read, end and fail in an order that a seed decides. */
@Tag("host")
@EnabledForJreRange(minVersion = 24)
class StreamScenariosTest {
  @Test
  void acceptedBytesArriveBeforeTheEnd() {
    Simulation.check(
        Seeds.of(40), simulation -> StreamScenario.run(simulation, StreamScenario.Trouble.NONE));
  }

  @Test
  void callsReturnWhenAnEndIsClosedOrInterrupted() {
    Simulation.check(
        Seeds.of(40), simulation -> StreamScenario.run(simulation, StreamScenario.Trouble.ENDS));
  }

  @Test
  void callsReturnWhenAHostIsLost() {
    Simulation.check(
        Seeds.of(40), simulation -> StreamScenario.run(simulation, StreamScenario.Trouble.HOSTS));
  }

  /** The interrupt of a reader, by which a failed run ends, closes its channel. */
  @Test
  void aFailureIsReportedBesideAReader() {
    AssertionError error =
        assertThrows(
            AssertionError.class, () -> Simulation.run(1, StreamScenariosTest::failBesideAReader));
    assertTrue(error.getMessage().contains("on purpose"), error::getMessage);
  }

  private static void failBesideAReader(Simulation simulation) throws Exception {
    SoftHosts hosts = SoftHosts.create();
    var _ =
        hosts.call(
            () -> {
              var server = RdmaSockets.openServerSocketChannel(StandardProtocolFamily.INET);
              server.bind(new InetSocketAddress(hosts.serverAddress(), 0));
              SocketChannel channel = RdmaSockets.openSocketChannel(StandardProtocolFamily.INET);
              var _ = channel.connect(server.getLocalAddress());
              Thread _ =
                  simulation.actor(
                      "reader",
                      () -> {
                        int _ = channel.read(ByteBuffer.allocate(1));
                      });
              return channel;
            });
    Simulation.sleep(Duration.ofSeconds(1));
    throw new IllegalStateException("on purpose");
  }
}
