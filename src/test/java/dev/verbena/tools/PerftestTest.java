package dev.verbena.tools;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;

import java.io.IOException;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

/** The figures that perftest's programs print. */
@Tag("host")
class PerftestTest {
  @Test
  void typicalLatencyIsRead() throws IOException {
    String output =
        """
         #bytes #iterations    t_min[usec]    t_max[usec]  t_typical[usec]    t_avg[usec]
         64      1000          34.90          1201.75      39.47              41.02
        ---------------------------------------------------------------------------------
        """;
    assertEquals(39.47, Perftest.SEND_LATENCY.parse(output));
  }

  @Test
  void averageBandwidthIsRead() throws IOException {
    String output =
        """
         #bytes     #iterations    BW peak[MB/sec]    BW average[MB/sec]   MsgRate[Mpps]
         65536      256              61.10              60.77                0.000972
        """;
    assertEquals(60.77, Perftest.WRITE_BANDWIDTH.parse(output));
  }

  @Test
  void outputWithoutTheSizeFails() {
    assertThrows(IOException.class, () -> Perftest.READ_LATENCY.parse("a warning\n"));
  }
}
