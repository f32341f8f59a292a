package dev.verbena.tools;

import static org.junit.jupiter.api.Assertions.assertEquals;

import java.io.PrintWriter;
import java.io.StringWriter;
import java.time.Duration;
import org.junit.jupiter.api.Test;

/** How far a long run is, said from time to time. */
class ProgressTest {
  private long now = 5;

  @Test
  void onlyLongRunsPrintProgress() {
    StringWriter err = new StringWriter();
    Progress progress = new Progress(new PrintWriter(err, true), 400, () -> now);
    progress.at(1);
    now += Duration.ofSeconds(1).toNanos();
    progress.at(50);
    assertEquals("", err.toString());
    now += Duration.ofMillis(1001).toNanos();
    progress.at(100);
    progress.at(101);
    now += Duration.ofSeconds(3).toNanos();
    progress.at(300);
    assertEquals("100 of 400 (25 %)\n300 of 400 (75 %)\n", err.toString());
  }
}
