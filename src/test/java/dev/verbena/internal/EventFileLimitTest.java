package dev.verbena.internal;

import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.verbena.testing.Program;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.Test;

/** Descriptors that software devices signal events on. */
class EventFileLimitTest {
  @Test
  void lackOfDescriptorsNamesTheLimit() throws Exception {
    // Without the option the JVM raises the limit.
    List<String> java = new ArrayList<>(Program.java(EventFileLimitMain.class));
    java.add(1, "-XX:-MaxFDLimit");
    List<String> limited = List.of("sh", "-c", "ulimit -n 200; exec \"$@\"", "sh");
    try (Program program = Program.start(Program.with(limited, java.toArray(String[]::new)))) {
      String text = program.endsWell();
      assertTrue(text.contains("eventfd: Too many open files (EMFILE, 24)"), text);
      assertTrue(text.contains("ulimit -n"), text);
    }
  }
}
