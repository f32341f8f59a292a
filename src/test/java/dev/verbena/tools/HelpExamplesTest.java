package dev.verbena.tools;

import static java.util.stream.Collectors.toSet;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;
import static org.junit.jupiter.api.DynamicTest.dynamicTest;

import dev.verbena.programs.Programs;
import dev.verbena.soft.CaptureFileTest;
import dev.verbena.testing.Ports;
import dev.verbena.testing.Program;
import dev.verbena.testing.Run;
import java.io.IOException;
import java.net.DatagramSocket;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import java.util.concurrent.CompletableFuture;
import java.util.stream.Stream;
import org.junit.jupiter.api.DynamicTest;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.TestFactory;
import org.junit.jupiter.api.io.TempDir;
import picocli.CommandLine;
import picocli.CommandLine.Model.OptionSpec;

/**
 * The examples that the help of each command ends with: each ends as its exit status says, on
 * software devices, or {@link #NOT_RUN} has the reason. A line that ends with {@code # server} runs
 * beside the next one.
 */
@Tag("host")
class HelpExamplesTest {
  private static final String NIC = "needs a NIC";

  /** Lines that are not run, and why. */
  private static final Map<String, String> NOT_RUN =
      Map.ofEntries(
          Map.entry("verbena demo", "uses the NIC of the host, if there is one: DemoTest"),
          Map.entry("verbena demo --lab", "starts a virtual machine"),
          Map.entry("verbena devinfo -d mlx5_0", NIC),
          Map.entry("verbena events -d mlx5_0 -n 1 -t 60", NIC),
          Map.entry("verbena top -d mlx5_0 -n 1 --json", "reads files of the kernel: TopTest"),
          Map.entry("verbena perf lat -d mlx5_0 --rate 20000 HOST", NIC),
          Map.entry("verbena perf bw -d mlx5_0 -a -q 4 HOST", NIC),
          Map.entry("verbena perf shadow -d mlx5_0 -n 1000000", "needs a NIC: PerfShadowTest"),
          Map.entry(
              "verbena qualify --both-ends --quick", "takes two minutes: PeerMeasurementsTest"),
          Map.entry("verbena qualify -d mlx5_0 --serve", NIC),
          Map.entry("verbena qualify -d mlx5_0 --peer HOST", NIC),
          Map.entry("programs packets receive -d mlx5_0 --rule sniffer -n 100", NIC));

  /** The exit status of lines for which it is not 0, and those of which it depends on the host. */
  private static final Map<String, Set<Integer>> STATUS =
      Map.of("verbena doctor --device udp:127.0.0.1 --json", Set.of(0, 1));

  private static final String SERVER = "# server";

  @TempDir private Path folder;

  /** Lines that run at the same time: one, or a server and a client. */
  private record Example(List<String> lines) {
    boolean isRun() {
      return lines.stream().noneMatch(NOT_RUN::containsKey);
    }
  }

  /** Returns the commands of both command lines, each as the words before its options. */
  private static Map<String, CommandLine> commands() {
    Map<String, CommandLine> commands = new TreeMap<>();
    add("verbena", new CommandLine(new Main()), commands);
    add("programs", new CommandLine(new Programs()), commands);
    return commands;
  }

  private static void add(String words, CommandLine line, Map<String, CommandLine> commands) {
    line.getSubcommands().forEach((name, sub) -> add(words + " " + name, sub, commands));
    if (line.getSubcommands().isEmpty()) {
      commands.put(words, line);
    }
  }

  private static List<Example> examples(String command) {
    String help = Run.of(words(command + " --help")).succeeded().out();
    int heading = help.indexOf("\nExamples:\n");
    assertTrue(heading >= 0, command + " has no example");
    List<Example> examples = new ArrayList<>();
    List<String> pair = new ArrayList<>();
    for (String line : help.substring(heading).lines().skip(2).toList()) {
      assertTrue((line + " ").startsWith("  " + command + " "), line);
      pair.add(line.replaceFirst(" +#.*", "").strip());
      if (!line.endsWith(SERVER)) {
        examples.add(new Example(List.copyOf(pair)));
        pair.clear();
      }
    }
    assertFalse(examples.isEmpty(), command);
    assertEquals(List.of(), pair, "a server without a client");
    return examples;
  }

  /** Returns the arguments of a line, without the name of the program. */
  private static String[] words(String line) {
    String[] words = line.split(" ", -1);
    return Arrays.copyOfRange(words, 1, words.length);
  }

  @TestFactory
  Stream<DynamicTest> examplesEndAsDocumented() {
    return commands().entrySet().stream()
        .flatMap(
            command ->
                examples(command.getKey()).stream()
                    .filter(Example::isRun)
                    .map(
                        example ->
                            dynamicTest(
                                String.join(" & ", example.lines()),
                                () -> run(example.lines(), command.getValue()))));
  }

  @Test
  void onlyExamplesAreNotRun() {
    Set<String> lines =
        commands().keySet().stream()
            .flatMap(command -> examples(command).stream())
            .flatMap(example -> example.lines().stream())
            .collect(toSet());
    assertTrue(lines.containsAll(NOT_RUN.keySet()), "" + NOT_RUN.keySet());
    assertTrue(lines.containsAll(STATUS.keySet()), "" + STATUS.keySet());
  }

  private void run(List<String> lines, CommandLine command) throws Exception {
    // Ports that are free, and files that are there.
    String tcp = Ports.free();
    String udp = freeUdpPort();
    List<String[]> runs = new ArrayList<>();
    for (String line : lines) {
      runs.add(words(prepared(line, tcp, udp, command)));
    }
    if (lines.size() == 1) {
      int status = Run.of(runs.getFirst()).status();
      assertTrue(STATUS.getOrDefault(lines.getFirst(), Set.of(0)).contains(status), "" + status);
    } else if (lines.getFirst().startsWith("programs rcopy")) {
      copy(runs.get(0), runs.get(1));
    } else {
      CompletableFuture<Run> server = Run.inBackground(runs.get(0));
      var _ = Run.untilConnected(server::isDone, runs.get(1)).succeeded();
      var _ = server.join().succeeded();
    }
  }

  private static String freeUdpPort() throws IOException {
    try (DatagramSocket socket = new DatagramSocket()) {
      return "" + socket.getLocalPort();
    }
  }

  private String prepared(String line, String tcp, String udp, CommandLine command)
      throws IOException {
    OptionSpec port = command.getCommandSpec().findOption("-p");
    boolean meets = line.contains("--both-ends") || line.contains("127.0.0.2");
    boolean hasPort = port != null && port.paramLabel().equals("PORT");
    String prepared = line.replaceAll("(udp:[0-9.]+)", "$1:" + udp);
    prepared = prepared.replace("latency.svg", "" + folder.resolve("latency.svg"));
    prepared = prepared.replace("report.json", "reports/soft-roce-forky/report.json");
    if (line.contains("roce.pcap")) {
      Path file = Files.write(folder.resolve("roce.pcap"), CaptureFileTest.ofNics());
      prepared = prepared.replace("roce.pcap", "" + file);
    }
    if (line.contains("FILE")) {
      prepared = prepared.replace("FILE", "" + Files.writeString(folder.resolve("sent"), "text"));
      prepared = prepared.replace("COPY", "" + folder.resolve("COPY"));
    }
    return meets && hasPort
        ? prepared.replaceFirst("^(\\w+ [\\w-]+( lat| bw)?)", "$1 -p " + tcp)
        : prepared;
  }

  /** The server serves one client after the other, until it is ended. */
  private void copy(String[] server, String[] client) throws Exception {
    try (Program serving = Program.start(Program.java(Programs.class, server))) {
      var _ = Run.untilConnected(serving::hasEnded, client).succeeded();
      assertEquals("text", Files.readString(folder.resolve("COPY")));
      serving.process().destroy();
      assertEquals(143, serving.exitStatus());
    }
  }
}
