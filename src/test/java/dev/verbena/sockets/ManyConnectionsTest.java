package dev.verbena.sockets;

import dev.verbena.testing.Program;
import java.util.List;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

/** Many connections between software devices leave nothing behind. */
@Tag("host")
@Tag("slow")
class ManyConnectionsTest {
  /** {@code -Dverbena.sockets.connections=10000} opens and closes more of them. */
  private static final String COUNT = System.getProperty("verbena.sockets.connections", "1000");

  @Test
  void descriptorsThreadsAndMemoryAreReleased() throws Exception {
    List<String> options =
        List.of(
            "-Ddev.verbena.soft=2",
            "-XX:TieredStopAtLevel=1",
            "-XX:MarkSweepAlwaysCompactCount=1",
            "-Xms512m",
            "-Xmx512m",
            "-XX:+AlwaysPreTouch");
    List<String> command =
        Program.java(
            options, ManyConnections.class, "192.0.2.1", "192.0.2.2", COUNT, "16384", "32");
    try (Program program = Program.start(command)) {
      System.out.println(program.endsWell());
    }
  }
}
