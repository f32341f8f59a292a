package dev.verbena.attributes;

import static dev.verbena.testing.DeviceKind.SOFTWARE;
import static dev.verbena.testing.DeviceKind.SOFT_ROCE;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.verbena.internal.host.SystemFiles;
import dev.verbena.testing.DeviceTest;
import dev.verbena.testing.On;
import dev.verbena.testing.Rig;
import dev.verbena.verbs.Context;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import java.util.OptionalInt;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class StatisticsTest {
  @TempDir Path device;

  private void file(String name, String text) throws IOException {
    Path file = device.resolve(name);
    Files.createDirectories(file.getParent());
    Files.writeString(file, text + "\n");
  }

  @Test
  void countersAreReadFromTheFilesOfTheDeviceAndOfEachPort() throws IOException {
    file("hw_counters/resets", "3");
    file("ports/2/counters/port_rcv_data", "18446744073709551615");
    file("ports/1/hw_counters/sent_pkts", "7");
    file("ports/1/hw_counters/lifespan", "10");
    file("ports/1/counters/VL15_dropped", "N/A (no PMA)");
    assertEquals(
        new Statistics(
            Map.of("resets", 3L),
            List.of(
                new Statistics.OfPort(1, Map.of(), Map.of("sent_pkts", 7L)),
                new Statistics.OfPort(2, Map.of("port_rcv_data", -1L), Map.of())),
            Map.of("client_requests", 4L)),
        new SystemFiles(device.toString()).statistics(Map.of("client_requests", 4L)));
  }

  @Test
  void changesAreTheDifferencesOfEachCounter() {
    Statistics before =
        new Statistics(
            Map.of("a", 5L),
            List.of(new Statistics.OfPort(1, Map.of("b", 1L), Map.of("c", 2L))),
            Map.of("e", 1L));
    Statistics after =
        new Statistics(
            Map.of("a", 6L),
            List.of(
                new Statistics.OfPort(1, Map.of("b", 3L), Map.of("c", 2L, "d", 4L)),
                new Statistics.OfPort(2, Map.of("b", 9L), Map.of())),
            Map.of("e", 6L));
    assertEquals(
        new Statistics(
            Map.of("a", 1L),
            List.of(
                new Statistics.OfPort(1, Map.of("b", 2L), Map.of("c", 0L, "d", 4L)),
                new Statistics.OfPort(2, Map.of("b", 9L), Map.of())),
            Map.of("e", 5L)),
        after.since(before));
  }

  @Test
  void countersHaveUnitsAndMeanings() {
    Statistics statistics =
        new Statistics(
            Map.of("a", 5L),
            List.of(
                new Statistics.OfPort(
                    2,
                    Map.of("link_downed", 1L, "port_rcv_data", -1L),
                    Map.of("link_downed", 2L, "out_of_sequence", 3L))),
            Map.of("client_waits", 7L));
    assertEquals(
        List.of(
            "a = 5",
            "link_downed = 1 times",
            "port_rcv_data = 18446744073709551615 words of 4 bytes",
            "link_downed = 2 times",
            "out_of_sequence = 3 packets",
            "client_waits = 7 times"),
        statistics.counters().stream().map(Counter::toString).toList());
    Counter unknown = statistics.counters().getFirst();
    assertEquals(OptionalInt.empty(), unknown.port());
    assertEquals("hw_counters", unknown.group());
    assertEquals("", unknown.description());
    Counter sequence = statistics.counters().get(4);
    assertEquals(OptionalInt.of(2), sequence.port());
    assertEquals(3, sequence.value());
    assertTrue(sequence.description().contains("loses or reorders"), sequence.description());
    assertEquals("counters", statistics.counters().get(1).group());
    assertEquals("messages", statistics.counters().getLast().group());
    assertEquals(OptionalInt.empty(), statistics.counters().getLast().port());
  }

  @DeviceTest
  @On(
      value = {SOFTWARE, SOFT_ROCE},
      reason = "ports of the emulated NIC have no counters")
  void devicesOfTheKernelHaveCounters() {
    try (Context context = Rig.a().open()) {
      Statistics statistics = context.statistics();
      assertEquals(
          context.device().sysfsPath().isEmpty(),
          statistics.ports().stream().allMatch(port -> port.hardware().isEmpty()),
          statistics::toString);
    }
  }
}
