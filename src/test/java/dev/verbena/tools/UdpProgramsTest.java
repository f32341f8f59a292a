package dev.verbena.tools;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.verbena.programs.Programs;
import dev.verbena.testing.ForkedJvm;
import dev.verbena.testing.Ports;
import dev.verbena.testing.Run;
import dev.verbena.testing.Words;
import java.io.IOException;
import java.net.DatagramSocket;
import java.util.concurrent.CompletableFuture;
import org.HdrHistogram.Histogram;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;
import picocli.CommandLine;

/** The programs with {@code --device udp:ADDRESS}, on two addresses of the loopback interface. */
@Tag("host")
class UdpProgramsTest {
  private static final String SERVER = "127.0.0.2";

  private final int port = freeUdpPort();

  private static int freeUdpPort() {
    try (DatagramSocket socket = new DatagramSocket()) {
      return socket.getLocalPort();
    } catch (IOException e) {
      throw new AssertionError(e);
    }
  }

  private String here() {
    return "udp:127.0.0.1:" + port;
  }

  private String there() {
    return "udp:" + SERVER + ":" + port;
  }

  /** Runs a server and then a client, which both must end well; returns the client's output. */
  private static String meet(String[] server, String[] client) throws InterruptedException {
    CompletableFuture<Run> serving = Run.inBackground(server);
    String out = Run.untilConnected(serving::isDone, client).succeeded().out();
    serving.join().succeeded();
    return out;
  }

  private static ForkedJvm jvm() {
    return new ForkedJvm()
        .with("-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1") // It ends soon.
        .withNativeAccess()
        .withJarOf(CommandLine.class)
        .withJarOf(Histogram.class);
  }

  @Test
  void twoJvmsPlayPingPong() {
    String tcp = Ports.free();
    String[] options = {"-p", tcp, "-n", "100"};
    CompletableFuture<ForkedJvm.Result> server =
        CompletableFuture.supplyAsync(
            () -> jvm().run(Programs.class, Words.of("pingpong", "-d", there(), options)),
            task -> Thread.ofPlatform().daemon().start(task));
    ForkedJvm.Result client;
    do {
      client =
          jvm()
              .run(
                  Programs.class,
                  Words.of("pingpong", "-d", here(), Words.of(options, "127.0.0.1")));
    } while (client.output().contains("Couldn't connect") && !server.isDone());
    assertTrue(client.succeeded().contains("100 iters in "), client.output());
    assertTrue(server.join().succeeded().contains("100 iters in "), server.join().output());
  }

  @ParameterizedTest
  @ValueSource(strings = {"--uc", "--ud", "--srq", "--rc -e"})
  void pingpong(String service) throws Exception {
    String[] options = Words.of(service.split(" "), "-p", Ports.free(), "-n", "50", "--device");
    String out =
        meet(
            Words.of("pingpong", options, there()),
            Words.of("pingpong", options, Words.of(here(), "127.0.0.1")));
    assertTrue(out.contains("50 iters in "), out);
  }

  @Test
  void rping() throws Exception {
    String out =
        meet(
            Words.of("rping", "-s", "-a", SERVER, "-C", "5", "--device", there()),
            Words.of("rping", "-c", "-v", "-a", SERVER, "-C", "5", "--device", here()));
    assertEquals(5, out.lines().filter(line -> line.startsWith("ping data: ")).count(), out);
  }

  @Test
  void perf() throws Exception {
    String out =
        meet(
            Words.of("perf", "lat", "--cm", "-n", "50", "-w", "10", "-d", there()),
            Words.of("perf", "lat", "--cm", "-n", "50", "-w", "10", "-d", here(), SERVER));
    assertTrue(out.contains("50"), out);
  }

  @Test
  void tracePrintsEachPacket() throws Exception {
    String[] options = {"-p", Ports.free(), "-n", "1", "--trace", "--device"};
    CompletableFuture<Run> serving = Run.inBackground(Words.of("pingpong", options, there()));
    Run run =
        Run.untilConnected(
            serving::isDone, Words.of("pingpong", options, Words.of(here(), "127.0.0.1")));
    assertTrue(run.succeeded().err().contains("sent 127.0.0.1 > 127.0.0.2 RC_SEND_"), run.err());
    assertTrue(run.err().contains("received 127.0.0.2 > 127.0.0.1 RC_ACKNOWLEDGE "), run.err());
    serving.join().succeeded();
  }

  @Test
  void srq() throws Exception {
    String[] options = {"-a", SERVER, "-c", "5", "-l", "5000", "--device"};
    meet(Words.of("srq", "-s", options, there()), Words.of("srq", options, here()));
  }

  @ParameterizedTest
  @ValueSource(strings = {"-d", "--ib-dev", "--device"})
  void devinfoShowsTheDevice(String option) {
    assertEquals("udp0\n", Run.of("devinfo", "-l", option, here()).succeeded().out());
  }

  @Test
  void theDoctorChecksTheDevice() {
    Run run = Run.of("doctor", "--device", here());
    assertTrue(run.out().contains("udp0 can be opened"), run.out());
    assertTrue(run.out().contains("port 1 of udp0 is active"), run.out());
  }

  @ParameterizedTest
  @ValueSource(
      strings = {
        "rping -s --device rxe0",
        "pingpong --trace",
        "rping --both-ends --device udp:127.0.0.1",
        "pingpong --both-ends -d udp:127.0.0.1"
      })
  void wrongUsageIsTwo(String line) {
    Run run = Run.of(line.split(" "));
    assertEquals(2, run.status(), run.out() + run.err());
    assertTrue(run.err().contains("udp:"), run.err());
  }

  @ParameterizedTest
  @ValueSource(
      strings = {
        "devinfo -d udp:nonsense",
        "rping -s --device udp:1.2.3.4.5",
        "batch -d udp:",
        "perf lat -d udp:127.0.0.1:99999"
      })
  void aWrongAddressIsWrongUsage(String line) {
    Run run = Run.of(line.split(" "));
    assertEquals(2, run.status(), run.err());
    assertEquals(2, run.err().lines().count(), run.err()); // The second one names the help.
  }
}
