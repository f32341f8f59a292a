package dev.verbena.tools;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.verbena.tools.command.Patience;
import java.time.Duration;
import org.junit.jupiter.api.Test;

/** How long programs wait for what a user's options make slow. */
class PatienceTest {
  @Test
  void timeoutOfSmallMessagesIsShort() {
    assertEquals(Duration.ofSeconds(10), Patience.forBytes(64));
  }

  @Test
  void timeoutGrowsWithTheSize() {
    PerfTask task = new PerfTask(PerfTask.Operation.WRITE, 1 << 26, 0, 16);
    assertTrue(task.patience().compareTo(Duration.ofSeconds(60)) > 0, "" + task.patience());
    assertEquals(
        Duration.ofSeconds(10), new PerfTask(PerfTask.Operation.SEND, 64, 0, 16).patience());
  }

  @Test
  void timeoutOfThePeerGrowsWithTheSize() {
    PerfTask task = new PerfTask(PerfTask.Operation.WRITE, 1 << 26, 0, 16);
    assertEquals(Duration.ofSeconds(5 + 256), task.patience(Duration.ofSeconds(5)));
  }
}
