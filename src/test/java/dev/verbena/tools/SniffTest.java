package dev.verbena.tools;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.verbena.soft.CaptureFileTest;
import dev.verbena.testing.Run;
import dev.verbena.testing.Words;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** {@code verbena sniff}. */
@Tag("host")
class SniffTest {
  @TempDir private Path folder;

  private Run sniff(byte[] content, String... options) throws IOException {
    Path file = folder.resolve("roce.pcap");
    Files.write(file, content);
    return Run.of(Words.of("sniff", file, options));
  }

  @Test
  void printsALineForEachPacket() throws IOException {
    Run run = sniff(CaptureFileTest.ofNics()).succeeded();
    assertEquals(2, run.out().lines().count(), run.out());
    assertTrue(run.out().contains(" UC_SEND_ONLY qpn=0x0000d3 "), run.out());
    assertEquals(
        "2 frames, 2 RoCE v2 packets, 0 of them malformed or with a wrong ICRC", run.err().strip());
  }

  @Test
  void otherPortsCanBeChosen() throws IOException {
    assertEquals("", sniff(CaptureFileTest.ofNics(), "-p", "4792").succeeded().out());
  }

  @Test
  void whatIsNoCaptureFileIsReportedInOneLine() throws IOException {
    Run run = sniff(new byte[100]);
    assertEquals(1, run.status());
    assertEquals("verbena sniff: not a capture file: it begins with 0x00000000", run.err().strip());
    Run missing = Run.of("sniff", folder.resolve("missing").toString());
    assertEquals(1, missing.status());
    assertTrue(missing.err().contains("No such file"), missing.err());
    assertEquals(1, missing.err().lines().count(), missing.err());
  }
}
