package dev.verbena.programs;

import static dev.verbena.testing.Environment.SOFT;
import static dev.verbena.testing.Need.ADDRESSES;
import static dev.verbena.testing.Need.CM;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNotEquals;

import dev.verbena.testing.Await;
import dev.verbena.testing.DeviceTest;
import dev.verbena.testing.Needs;
import dev.verbena.testing.Once;
import dev.verbena.testing.Ports;
import dev.verbena.testing.Rig;
import dev.verbena.testing.Run;
import dev.verbena.testing.Words;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.Arrays;
import java.util.Comparator;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.function.Predicate;
import jdk.jfr.Recording;
import jdk.jfr.consumer.RecordedEvent;
import jdk.jfr.consumer.RecordingFile;
import org.junit.jupiter.api.io.TempDir;

/** The recordings that docs/observability.md shows are those of the commands that it names. */
@Once(value = SOFT, reason = "options and output")
class RecordingsTest {
  /** How often the recording is read again: for as long as a busy machine may take. */
  private static final int ATTEMPTS = 600;

  @TempDir private Path folder;

  /** Other events of the library are recorded if something takes long. */
  private static final List<String> SHOWN =
      List.of("MemoryRegistration", "QueuePairTransition", "ConnectionEnded", "ChannelWait");

  /** A command whose events are recorded. */
  private interface Command {
    void run() throws Exception;
  }

  /**
   * Records a command, whose last events must be those of a section of the page. Another thread may
   * add the last one after the command has ended. Before them are attempts to connect while the
   * server does not listen yet, and waits below the threshold.
   */
  private void assertRecorded(String section, Command command, Predicate<RecordedEvent> chosen)
      throws Exception {
    List<String> expected = documented(section);
    try (Recording recording = new Recording()) {
      for (String name : SHOWN) {
        recording.enable("dev.verbena." + name).withoutThreshold().withoutStackTrace();
      }
      recording.start();
      command.run();
      List<String> last = last(expected.size(), recorded(recording, chosen));
      for (int i = 1; !last.equals(expected) && i <= ATTEMPTS; i++) {
        if (i % 20 == 0) { // What a thread was to wait for may have been there already.
          command.run();
        }
        Await.pass(Duration.ofMillis(100), "threads that end commit their events");
        last = last(expected.size(), recorded(recording, chosen));
      }
      assertEquals(expected, last);
    }
  }

  private static List<String> last(int count, List<String> events) {
    return events.subList(Math.max(0, events.size() - count), events.size());
  }

  /** The events until now as {@code jfr print} prints them, in their order. */
  private List<String> recorded(Recording recording, Predicate<RecordedEvent> chosen)
      throws IOException {
    Path file = folder.resolve("recording.jfr");
    recording.dump(file);
    return RecordingFile.readAllEvents(file).stream()
        .filter(event -> SHOWN.contains(event.getEventType().getName().replace("dev.verbena.", "")))
        .filter(chosen)
        .sorted(Comparator.comparing(RecordedEvent::getEndTime))
        .map(event -> constant(event.toString()))
        .toList();
  }

  /** The events that a section of the page shows. */
  private static List<String> documented(String section) throws IOException {
    String page = Files.readString(Path.of("docs/observability.md"));
    String text = page.substring(page.indexOf("\n## " + section + "\n"));
    String block = text.split("\n```\n", 3)[1];
    return Arrays.stream(block.split("\n\n")).map(RecordingsTest::constant).toList();
  }

  /** What is the same in each run, on each device. */
  private static String constant(String event) {
    return event
        .strip()
        .replaceAll("(?m)^( *(startTime|duration|device|queuePair|eventThread) = ).*$", "$1...")
        .replaceAll("(?m)^( *channel = \"RDMA CM event channel ).*$", "$1...")
        .replaceAll("[0-9a-f.:]+(:\\d+)? to /[0-9a-f.:]+", "... to /...");
  }

  @DeviceTest
  @Needs(ADDRESSES)
  void recordingOfAPingPongIsThatOfThePage() throws Exception {
    String port = Ports.free();
    String here = Rig.a().name();
    Command both =
        () -> {
          String[] common = Words.of("pingpong", "-g", "1", "-n", "100", "-p", port);
          CompletableFuture<Run> server = Run.inBackground(Words.of(common, "-d", Rig.b().name()));
          Run.untilConnected(server::isDone, Words.of(common, "-d", here, "127.0.0.1")).succeeded();
          server.join().succeeded();
        };
    assertRecorded(
        "A ping-pong",
        both,
        event -> event.hasField("device") && event.getString("device").equals(here));
  }

  @DeviceTest
  @Needs(CM)
  void recordingOfAFailedConnectionIsThatOfThePage() throws Exception {
    String[] command =
        Words.of(
            "rping",
            "-c",
            "-a",
            Rig.addressB().getHostAddress(),
            "-I",
            Rig.addressA().getHostAddress(),
            "-p",
            Ports.free());
    assertRecorded(
        "A failed connection",
        () -> assertNotEquals(0, Run.of(command).status()),
        event -> !event.hasField("found") || event.getBoolean("found"));
  }
}
