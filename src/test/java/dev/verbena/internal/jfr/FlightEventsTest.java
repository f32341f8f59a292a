package dev.verbena.internal.jfr;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNotNull;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.verbena.cm.ConnectionException;
import dev.verbena.cm.EventType;
import dev.verbena.messages.Connection;
import dev.verbena.soft.SoftHosts;
import dev.verbena.soft.SoftNetwork;
import dev.verbena.testing.Await;
import dev.verbena.testing.ForkedJvm;
import dev.verbena.values.AccessFlag;
import dev.verbena.values.AsyncEventType;
import dev.verbena.values.CompletionStatus;
import dev.verbena.values.QueuePairType;
import dev.verbena.verbs.AsyncEvent;
import dev.verbena.verbs.AsyncEvents;
import dev.verbena.verbs.CompletionChannel;
import dev.verbena.verbs.CompletionQueue;
import dev.verbena.verbs.Completions;
import dev.verbena.verbs.Context;
import dev.verbena.verbs.MemoryRegion;
import dev.verbena.verbs.ProtectionDomain;
import dev.verbena.verbs.QueuePair;
import dev.verbena.verbs.SendList;
import java.io.IOException;
import java.net.InetSocketAddress;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.regex.MatchResult;
import java.util.regex.Pattern;
import jdk.jfr.Recording;
import jdk.jfr.consumer.RecordedEvent;
import jdk.jfr.consumer.RecordingFile;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** What a flight recording contains of programs on software devices. */
@Tag("host")
class FlightEventsTest {
  @TempDir Path folder;

  /** A program whose events are recorded. */
  interface Program {
    void run() throws Exception;
  }

  /** The recorded events of one name, whatever their duration. */
  private List<RecordedEvent> recorded(String name, Program program) throws Exception {
    Path file = folder.resolve("recording.jfr");
    try (Recording recording = new Recording()) {
      recording.enable("dev.verbena." + name).withoutThreshold();
      recording.start();
      program.run();
      recording.stop();
      recording.dump(file);
    }
    return RecordingFile.readAllEvents(file).stream()
        .filter(event -> event.getEventType().getName().equals("dev.verbena." + name))
        .toList();
  }

  /** Two connected queue pairs of one software device. */
  private record Pair(
      SoftNetwork network,
      Context context,
      CompletionQueue completions,
      MemoryRegion region,
      QueuePair here,
      QueuePair there)
      implements AutoCloseable {
    static Pair connected() {
      SoftNetwork network = SoftNetwork.create();
      Context context = network.addDevice("soft0").open();
      ProtectionDomain domain = context.allocateProtectionDomain();
      CompletionQueue completions = context.createCompletionQueue(512);
      QueuePair here =
          QueuePair.builder(domain, QueuePairType.RC).completions(completions).create();
      QueuePair there =
          QueuePair.builder(domain, QueuePairType.RC).completions(completions).create();
      here.connect(there.localAddress());
      there.connect(here.localAddress());
      MemoryRegion region =
          domain.allocateMemory(8192, AccessFlag.LOCAL_WRITE, AccessFlag.REMOTE_WRITE);
      return new Pair(network, context, completions, region, here, there);
    }

    /** Writes with a remote key that does not exist, and returns the status. */
    CompletionStatus writeWithWrongKey() {
      SendList sends = new SendList(1, 1);
      sends
          .write(0)
          .id(77)
          .local(region, 0, 8)
          .remote(region.start(), region.rkey() + 1)
          .signaled();
      assertEquals(1, here.post(sends));
      Completions found = new Completions(1);
      while (completions.poll(found) == 0) {
        Thread.onSpinWait();
      }
      return found.status(0);
    }

    @Override
    public void close() {
      context.close();
      network.close();
    }
  }

  @Test
  void transitionsOfQueuePairsAreRecorded() throws Exception {
    int[] numbers = new int[1];
    List<RecordedEvent> events =
        recorded(
            "QueuePairTransition",
            () -> {
              try (Pair pair = Pair.connected()) {
                numbers[0] = pair.here.number();
              }
            });
    List<String> steps = new ArrayList<>();
    for (RecordedEvent event : events) {
      assertEquals("soft0", event.getString("device"));
      assertEquals("RC", event.getString("type"));
      assertNull(event.getString("failure"));
      if (event.getInt("queuePair") == numbers[0]) {
        steps.add(event.getString("from") + " to " + event.getString("to"));
      }
    }
    assertEquals(List.of("RESET to INIT", "INIT to RTR", "RTR to RTS"), steps);
  }

  @Test
  void registrationsAreRecordedWithTheirSize() throws Exception {
    RecordedEvent event = recorded("MemoryRegistration", () -> Pair.connected().close()).getFirst();
    assertEquals("soft0", event.getString("device"));
    assertEquals(8192, event.getLong("length"));
    assertEquals("LOCAL_WRITE REMOTE_WRITE", event.getString("access"));
    assertTrue(event.getDuration().isPositive(), event::toString);
  }

  @Test
  void failedCompletionsAreRecorded() throws Exception {
    List<RecordedEvent> events =
        recorded(
            "FailedCompletion",
            () -> {
              try (Pair pair = Pair.connected()) {
                assertEquals(CompletionStatus.REM_ACCESS_ERR, pair.writeWithWrongKey());
              }
            });
    assertEquals(1, events.size(), events::toString);
    assertEquals("REM_ACCESS_ERR", events.getFirst().getString("status"));
    assertEquals(77, events.getFirst().getLong("id"));
  }

  @Test
  void failedCompletionsAreThrottledAndTheOmittedCounted() throws Exception {
    int many = 100 * FailedCompletionEvent.PER_SECOND;
    long start = System.nanoTime();
    long[] seconds = new long[1];
    List<RecordedEvent> events =
        recorded(
            "FailedCompletion",
            () -> {
              for (int i = 0; i < many; i++) {
                FlightEvents.failedCompletion("queue", 1, i, "WR_FLUSH_ERR", 0);
              }
              seconds[0] = Duration.ofNanos(System.nanoTime() - start).toSeconds();
              Await.pass(Duration.ofMillis(1100), "a second with further events begins");
              FlightEvents.failedCompletion("queue", 1, many, "WR_FLUSH_ERR", 0);
            });
    assertTrue(
        events.size() <= (seconds[0] + 2) * FailedCompletionEvent.PER_SECOND + 1,
        () -> events.size() + " in " + seconds[0] + " s");
    long omitted = events.stream().mapToLong(event -> event.getLong("omitted")).sum();
    assertEquals(many + 1, events.size() + omitted);
  }

  @Test
  void asynchronousEventsAreRecorded() throws Exception {
    List<RecordedEvent> events =
        recorded(
            "AsynchronousEvent",
            () -> {
              try (Pair pair = Pair.connected()) {
                pair.writeWithWrongKey();
                AsyncEvent event = AsyncEvents.of(pair.context).take();
                assertEquals(AsyncEventType.QP_ACCESS_ERR, event.type());
              }
            });
    assertEquals("QP_ACCESS_ERR", events.getFirst().getString("type"));
    assertTrue(events.getFirst().getString("object").startsWith("queue pair"), events::toString);
  }

  @Test
  void waitsOnChannelsAreRecorded() throws Exception {
    List<RecordedEvent> events =
        recorded(
            "ChannelWait",
            () -> {
              try (SoftNetwork network = SoftNetwork.create();
                  Context context = network.addDevice("soft0").open();
                  CompletionChannel channel = context.createCompletionChannel()) {
                assertNull(channel.poll(Duration.ofMillis(1)));
              }
            });
    String channel = events.getFirst().getString("channel");
    assertTrue(channel.matches("completion channel \\d+ of soft0"), channel);
    assertFalse(events.getFirst().getBoolean("found"));
  }

  @Test
  void establishedConnectionsAreRecordedAtBothEnds() throws Exception {
    List<RecordedEvent> events =
        recorded(
            "ConnectionEstablished",
            () -> {
              try (SoftHosts hosts = SoftHosts.create()) {
                hosts.client().send(new byte[1]);
                assertNotNull(hosts.server().receive());
              }
            });
    assertEquals(2, events.size(), events::toString);
    for (RecordedEvent event : events) {
      assertNamesConnection(event);
      String queuePair = event.getString("queuePair");
      assertTrue(queuePair.matches("queue pair 0x[0-9a-f]+ of \\w+"), queuePair);
    }
  }

  /** The events of a connection have the same name, also when its identifier is closed. */
  private static void assertNamesConnection(RecordedEvent event) {
    String connection = event.getString("connection");
    assertTrue(connection.matches(".*/[^/ ]+:\\d+ to /[^/ ]+:\\d+"), connection);
  }

  @Test
  void endsOfConnectionsAreRecordedWithTheReason() throws Exception {
    List<RecordedEvent> events =
        recorded(
            "ConnectionEnded",
            () -> {
              try (SoftHosts hosts = SoftHosts.create()) {
                Connection server = hosts.server();
                hosts.client().close();
                assertNull(server.receive());
                // The event may follow the last message.
                Await.until("the end", () -> server.endpoint().end().isPresent());
              }
            });
    assertTrue(
        events.stream()
            .anyMatch(
                event ->
                    event.getString("event").equals("DISCONNECTED")
                        && event.getInt("status") == 0
                        && event.getString("reason").equals(EventType.DISCONNECTED.meaning())),
        events::toString);
    events.forEach(FlightEventsTest::assertNamesConnection);
  }

  @Test
  void rejectedConnectionsAreRecordedWithTheReason() throws Exception {
    List<RecordedEvent> events =
        recorded(
            "ConnectionEnded",
            () -> {
              try (SoftHosts hosts = SoftHosts.create()) {
                var nobody = new InetSocketAddress(hosts.serverAddress(), 4711);
                assertThrows(
                    ConnectionException.class, () -> hosts.call(() -> Connection.connect(nobody)));
              }
            });
    RecordedEvent rejected =
        events.stream()
            .filter(event -> event.getString("event").equals("REJECTED"))
            .findAny()
            .orElseThrow();
    assertTrue(rejected.getString("connection").endsWith(":4711"), rejected::toString);
    assertEquals(8, rejected.getInt("status"));
    assertEquals("rejected: no listener on the port", rejected.getString("reason"));
  }

  @Test
  void controlCallsAreRecordedWithTheirFailure() throws Exception {
    List<RecordedEvent> events = recorded("ControlCall", () -> Pair.connected().close());
    assertTrue(
        events.stream().anyMatch(event -> event.getString("function").equals("ibv_modify_qp")),
        events::toString);
  }

  @Test
  void theLibraryWorksWithoutTheModuleOfTheRecorder() throws IOException {
    String output =
        new ForkedJvm()
            .withNativeAccess()
            .with("--limit-modules", "java.base")
            .run(WithoutRecorder.class)
            .succeeded();
    assertTrue(output.contains("REM_ACCESS_ERR, jdk.jfr absent"), output);
  }

  @Test
  void theRecorderIsNotInitializedWithoutARecording() throws IOException {
    String output =
        new ForkedJvm()
            .withNativeAccess()
            .with("-Xlog:class+load")
            .run(WithoutRecorder.class)
            .succeeded();
    assertTrue(output.contains("REM_ACCESS_ERR, jdk.jfr present"), output);
    assertEquals(
        List.of(), output.lines().filter(line -> line.contains(" jdk.jfr.internal.")).toList());
  }

  /** The JVM ignores a setting that its files lack, with a warning, unless it begins with "+". */
  @Test
  void theJvmKnowsTheSettingsOfTheGuide() throws IOException {
    List<String> settings =
        Pattern.compile("[+]?dev\\.verbena\\.\\w+#\\w+=\\w+")
            .matcher(Files.readString(Path.of("docs/observability.md")))
            .results()
            .map(MatchResult::group)
            .toList();
    assertEquals(2, settings.size(), settings::toString);
    String output =
        new ForkedJvm()
            .withNativeAccess()
            .with(
                "-XX:StartFlightRecording:filename=%s,%s"
                    .formatted(folder.resolve("a.jfr"), String.join(",", settings)))
            .run(WithoutRecorder.class)
            .succeeded();
    assertTrue(output.contains("Started recording"), output);
    assertFalse(output.contains("doesn't exist"), output);
  }

  /** Runs in a JVM without a recording, or without any module but java.base. */
  public static final class WithoutRecorder {
    private WithoutRecorder() {}

    /** Does all that is recorded elsewhere. */
    public static void main(String[] arguments) throws Exception {
      try (SoftNetwork network = SoftNetwork.create();
          Context context = network.addDevice("soft0").open();
          CompletionChannel channel = context.createCompletionChannel();
          CompletionQueue completions = context.completionQueue(16).channel(channel).create();
          ProtectionDomain domain = context.allocateProtectionDomain();
          QueuePair here =
              QueuePair.builder(domain, QueuePairType.RC).completions(completions).create();
          QueuePair there =
              QueuePair.builder(domain, QueuePairType.RC).completions(completions).create()) {
        here.connect(there.localAddress());
        there.connect(here.localAddress());
        MemoryRegion region = domain.allocateMemory(4096, AccessFlag.LOCAL_WRITE);
        SendList sends = new SendList(1, 1);
        sends.write(0).local(region, 0, 8).remote(region.start(), region.rkey()).signaled();
        completions.requestNotification();
        int _ = here.post(sends);
        channel.take();
        Completions found = new Completions(1);
        completions.poll(found);
        boolean present = ModuleLayer.boot().findModule("jdk.jfr").isPresent();
        System.out.println(found.status(0) + ", jdk.jfr " + (present ? "present" : "absent"));
      }
    }
  }
}
