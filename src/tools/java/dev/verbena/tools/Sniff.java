package dev.verbena.tools;

import dev.verbena.soft.CaptureFile;
import dev.verbena.tools.command.Cli;
import java.io.BufferedInputStream;
import java.io.FileInputStream;
import java.io.IOException;
import java.io.InputStream;
import java.util.concurrent.Callable;
import picocli.CommandLine.Command;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Option;
import picocli.CommandLine.Parameters;
import picocli.CommandLine.Spec;

/** Prints the RoCE v2 packets of a capture file. */
@Command(
    name = "sniff",
    header = "Print the RoCE v2 packets of a capture file, one per line.",
    description = {
      "Reads the format of libpcap: tcpdump -i NAME -w FILE udp port 4791, or live: tcpdump -i NAME"
          + " -U -w - udp port 4791 | verbena sniff -",
      "Requires no device."
    },
    footerHeading = Cli.EXAMPLES,
    footer = "  verbena sniff roce.pcap")
final class Sniff implements Callable<Integer> {
  private static final String STANDARD_INPUT = "-";

  @Spec private CommandSpec spec;

  @Option(
      names = {"-p", "--port"},
      paramLabel = "PORT",
      description = "UDP port of the packets; default: ${DEFAULT-VALUE}.")
  private int port = 4791;

  @Parameters(paramLabel = "FILE", description = "Capture file; - for the standard input.")
  private String file;

  @Override
  public Integer call() throws IOException {
    CaptureFile.Summary summary;
    try (InputStream in = open()) {
      summary = CaptureFile.read(in, port, spec.commandLine().getOut()::println);
    }
    spec.commandLine()
        .getErr()
        .println(
            "%d frames, %d RoCE v2 packets, %d of them malformed or with a wrong ICRC"
                .formatted(summary.frames(), summary.packets(), summary.wrong()));
    return 0;
  }

  private InputStream open() throws IOException {
    return file.equals(STANDARD_INPUT)
        ? System.in
        : new BufferedInputStream(new FileInputStream(file));
  }
}
