package dev.verbena.tools;

import dev.verbena.attributes.Statistics;
import dev.verbena.soft.SoftNetwork;
import dev.verbena.tools.command.Cli;
import dev.verbena.tools.command.Failure;
import dev.verbena.tools.command.Link;
import dev.verbena.tools.command.PairOptions;
import dev.verbena.tools.command.Tracing;
import dev.verbena.tools.output.Units;
import dev.verbena.verbs.Context;
import dev.verbena.verbs.Device;
import dev.verbena.verbs.ReceiveList;
import dev.verbena.verbs.SendList;
import dev.verbena.verbs.Verbena;
import dev.verbena.verbs.Verbena.Unsupported;
import java.io.IOException;
import java.io.PrintWriter;
import java.lang.foreign.ValueLayout;
import java.net.InetAddress;
import java.net.UnknownHostException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.Callable;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.FutureTask;
import java.util.stream.Collectors;
import org.HdrHistogram.Histogram;
import picocli.CommandLine.Command;
import picocli.CommandLine.Help.Ansi;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Option;
import picocli.CommandLine.Spec;

/** Runs the basic operations on this host's device, on software devices or in the lab. */
@Command(
    name = "demo",
    header = "Run the basic RDMA operations on this host, step by step.",
    description = {
      "Uses the host's RDMA device; without one, two software devices in this process, which"
          + " require only the JDK."
    },
    footerHeading = Cli.EXAMPLES,
    footer = {"  verbena demo", "  verbena demo --device udp:127.0.0.1", "  verbena demo --lab"})
final class Demo implements Callable<Integer> {
  private static final String LAB_DEVICE = "rxa";
  private static final String LAB_PEER_DEVICE = "rxb";
  private static final int BUFFER = 1 << 20;
  private static final int WRITES = 64;
  private static final int WRITE_SIZE = 4096;
  private static final int NAP_MILLIS = 100;

  /** Exit statuses of the lab: a crash of the guest, and an aborted JVM. */
  private static final int GUEST_BROKE_DOWN = 120;

  private static final int JVM_BROKE_DOWN = 134;

  @Spec private CommandSpec spec;

  @Mixin private PairOptions devices;

  @Mixin
  @SuppressWarnings("UnusedVariable") // Required by picocli.
  private Tracing tracing;

  @Option(
      names = "--lab",
      description =
          "Use Soft-RoCE, the kernel's software device, in a small virtual machine, which is set up"
              + " the first time it is needed.")
  private boolean lab;

  @Option(
      names = {"-n", "--iters"},
      paramLabel = "N",
      description = "Number of round trips to measure; default: ${DEFAULT-VALUE}.")
  private int iterations = 2000;

  private PrintWriter out;
  private int step;

  @Override
  public Integer call() throws IOException, InterruptedException {
    Failure.require(spec, "--iters", iterations, 1, Integer.MAX_VALUE);
    out = spec.commandLine().getOut();
    if (lab) {
      return runInLab();
    }
    Optional<Unsupported> missing = Verbena.unsupportedReason();
    if (missing.isPresent() && !devices.isNamed()) {
      showOnSoftwareDevices(missing.get());
    } else {
      String release = Verbena.rdmaCoreRelease().orElse("(unknown release)");
      show("libibverbs of rdma-core " + release, devices.device(), devices.peerDevice());
    }
    return 0;
  }

  private void showOnSoftwareDevices(Unsupported missing)
      throws UnknownHostException, InterruptedException {
    out.println("No RDMA on this host: " + missing);
    out.println(
        "The demo runs on two software devices in this JVM. --lab: on Soft-RoCE in a virtual"
            + " machine.");
    try (SoftNetwork network = SoftNetwork.create()) {
      show(
          "software devices",
          network.addDevice("soft0", InetAddress.getByName("192.0.2.1")),
          network.addDevice("soft1", InetAddress.getByName("192.0.2.2")));
    }
  }

  private int runInLab() throws IOException, InterruptedException {
    String home = System.getProperty("verbena.home");
    Path program = home == null ? null : Path.of(home, "src/lab/lab");
    if (program == null || !Files.isExecutable(program)) {
      throw new UnsupportedOperationException(
          "the lab is not available: run ./verbena demo --lab in a clone of the repository");
    }
    out.println(
        "Starting the lab: a virtual machine with a stock kernel and two software devices.");
    out.println("At the first start it is downloaded and built, which takes some minutes.");
    out.println();
    List<String> command = new ArrayList<>(List.of(program.toString(), "run", "--", "java"));
    command.addAll(List.of("--enable-native-access=ALL-UNNAMED", "-Xshare:auto"));
    command.add("-XX:TieredStopAtLevel=1"); // The emulator is slow for code that changes often.
    command.addAll(List.of("-cp", System.getProperty("java.class.path"), Main.class.getName()));
    command.addAll(List.of("demo", "-d", LAB_DEVICE, "--peer-dev", LAB_PEER_DEVICE));
    command.addAll(List.of("-n", Integer.toString(iterations)));
    int status = run(command);
    if (status == GUEST_BROKE_DOWN || status == JVM_BROKE_DOWN) {
      out.println();
      out.println("The virtual machine crashed. Starting it again.");
      out.println();
      status = run(command);
    }
    return status;
  }

  private static int run(List<String> command) throws IOException, InterruptedException {
    ProcessBuilder process = new ProcessBuilder(command).inheritIO();
    process.environment().put("VERBENA_LAB_JDK", System.getProperty("java.home"));
    return process.start().waitFor();
  }

  private void show(String library, Device device, Device peerDevice) throws InterruptedException {
    begin("Libraries and devices");
    tell("Java " + Runtime.version() + ", " + library);
    tell("this end uses " + device + ", the other end " + peerDevice);
    Statistics before = statistics(device);
    begin("Connect two queue pairs (RC)");
    try (Link here = new Link(device, BUFFER, 1);
        Link there = new Link(peerDevice, BUFFER, 1)) {
      here.queuePair().connect(there.address());
      there.queuePair().connect(here.address());
      tell("here:  " + here.address());
      tell("peer: " + there.address());
      message(here, there);
      write(here, there);
      read(here, there);
      add(here, there);
      batch(here, there);
      sleep(here, there);
      measure(here, there);
    }
    begin("Counters of the device");
    String changes =
        statistics(device).since(before).counters().stream()
            .filter(counter -> counter.group().equals("hw_counters") && counter.value() > 0)
            .map(counter -> counter.name() + " +" + counter.value())
            .collect(Collectors.joining(", "));
    tell(changes.isEmpty() ? "the device has no packet counters" : changes);
    out.println();
    out.println("It works. Next: verbena --help, and README.md for the first program.");
  }

  private static Statistics statistics(Device device) {
    try (Context context = device.open()) {
      return context.statistics();
    }
  }

  private void begin(String title) {
    step++;
    out.println();
    out.println(Ansi.AUTO.string("@|bold " + step + ". " + title + "|@"));
  }

  private void tell(String what) {
    out.println("   " + what);
  }

  private void message(Link here, Link there) {
    begin("Send a message");
    String text = "Hello from " + here.queuePair();
    ReceiveList receive = new ReceiveList(1, 1);
    receive.local(0, there.region(), 0, 256);
    there.post(receive);
    here.buffer().setString(0, text);
    SendList send = new SendList(1, 1);
    send.send(0).local(here.region(), 0, text.length() + 1).signaled();
    here.post(send);
    here.await();
    there.await();
    check(there.buffer().getString(0), text);
    tell("received by the peer: \"" + there.buffer().getString(0) + "\"");
  }

  private void write(Link here, Link there) {
    begin("Write to the peer's memory (RDMA write)");
    here.buffer().setString(0, "written by RDMA");
    SendList write = new SendList(1, 1);
    write
        .write(0)
        .local(here.region(), 0, 16)
        .remote(there.region().start() + 1024, there.region().rkey())
        .signaled();
    here.post(write);
    here.await();
    check(there.buffer().getString(1024), "written by RDMA");
    tell("peer's memory at offset 1024: \"" + there.buffer().getString(1024) + "\"");
  }

  private void read(Link here, Link there) {
    begin("Read the peer's memory (RDMA read)");
    there.buffer().setString(2048, "read by RDMA");
    SendList read = new SendList(1, 1);
    read.read(0)
        .local(here.region(), 4096, 13)
        .remote(there.region().start() + 2048, there.region().rkey())
        .signaled();
    here.post(read);
    here.await();
    check(here.buffer().getString(4096), "read by RDMA");
    tell("here: \"" + here.buffer().getString(4096) + "\"");
  }

  private void add(Link here, Link there) {
    begin("Add to a number in the peer's memory (fetch and add)");
    there.buffer().set(ValueLayout.JAVA_LONG, 0, 40);
    SendList add = new SendList(1, 1);
    add.fetchAndAdd(0, 2)
        .local(here.region(), 0, 8)
        .remote(there.region().start(), there.region().rkey())
        .signaled();
    here.post(add);
    here.await();
    long before = here.buffer().get(ValueLayout.JAVA_LONG, 0);
    long after = there.buffer().get(ValueLayout.JAVA_LONG, 0);
    check(before, 40L);
    check(after, 42L);
    tell("previous value " + before + ", new value " + after);
  }

  private void batch(Link here, Link there) {
    begin(
        WRITES
            + " RDMA writes of "
            + Units.bytes(WRITE_SIZE)
            + " with one post and one completion");
    SendList writes = new SendList(WRITES, 1);
    for (int i = 0; i < WRITES; i++) {
      long offset = (long) i * WRITE_SIZE;
      writes
          .write(i)
          .local(here.region(), offset, WRITE_SIZE)
          .remote(there.region().start() + offset, there.region().rkey());
    }
    writes.signaled(WRITES - 1);
    here.buffer().fill((byte) 7);
    long start = System.nanoTime();
    here.post(writes);
    here.await();
    long micros = (System.nanoTime() - start) / 1000;
    long size = (long) WRITES * WRITE_SIZE;
    check(there.buffer().asSlice(0, size).mismatch(here.buffer().asSlice(0, size)), -1L);
    tell(Units.bytes(size) + " transferred in " + micros + " us");
  }

  private void sleep(Link here, Link there) throws InterruptedException {
    begin("Wait for a completion event in a virtual thread");
    ReceiveList receive = new ReceiveList(1, 1);
    receive.local(0, there.region(), 0, 64);
    there.post(receive);
    FutureTask<Long> sleeper =
        new FutureTask<>(
            () -> {
              long start = System.nanoTime();
              there.sleep();
              return System.nanoTime() - start;
            });
    Thread.ofVirtual().name("sleeper").start(sleeper);
    Thread.sleep(NAP_MILLIS);
    SendList send = new SendList(1, 1);
    send.send(0).local(here.region(), 0, 64).signaled();
    here.post(send);
    here.await();
    try {
      tell("woken by a completion event after " + sleeper.get() / 1_000_000 + " ms");
    } catch (ExecutionException e) {
      throw new IllegalStateException("the waiting thread failed: " + e.getCause(), e.getCause());
    }
  }

  private void measure(Link here, Link there) {
    begin(iterations + " round trips of a message of 64 bytes");
    Histogram times = new RoundTrips(here, there, 64).measure(iterations);
    Histograms.draw(times, "us").forEach(this::tell);
  }

  private static void check(Object found, Object expected) {
    if (!found.equals(expected)) {
      throw new IllegalStateException("found " + found + ", expected " + expected);
    }
  }
}
