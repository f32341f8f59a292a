package dev.verbena.tools;

import static org.junit.jupiter.api.Assertions.assertEquals;

import java.io.PrintWriter;
import java.io.StringWriter;
import java.time.Duration;
import java.util.List;
import org.junit.jupiter.api.Test;

/** How far a long run is, said from time to time. */
class ProgressTest {
  private long now = 5;

  @Test
  void onlyLongRunsPrintProgress() {
    StringWriter err = new StringWriter();
    Progress progress = new Progress(new PrintWriter(err, true), () -> now);
    progress.begin("64 B", 0, 400);
    progress.at(1);
    now += Duration.ofSeconds(1).toNanos();
    progress.at(50);
    assertEquals("", err.toString());
    now += Duration.ofMillis(1001).toNanos();
    progress.at(100);
    progress.at(101);
    now += Duration.ofSeconds(3).toNanos();
    progress.at(300);
    assertEquals("64 B: 100 of 400 (25 %)\n64 B: 300 of 400 (75 %)\n", err.toString());
  }

  @Test
  void theWarmUpIsCountedApart() {
    StringWriter err = new StringWriter();
    Progress progress = new Progress(new PrintWriter(err, true), () -> now);
    progress.begin("64 B", 200, 400);
    for (int done : List.of(50, 200, 201, 600)) {
      now += Duration.ofSeconds(3).toNanos();
      progress.at(done);
    }
    assertEquals(
        List.of(
            "64 B, warm-up: 50 of 200 (25 %)",
            "64 B, warm-up: 200 of 200 (100 %)",
            "64 B: 1 of 400 (0 %)",
            "64 B: 400 of 400 (100 %)"),
        err.toString().lines().toList());
  }
}
