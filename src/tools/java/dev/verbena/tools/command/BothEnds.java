package dev.verbena.tools.command;

import dev.verbena.soft.SoftNetwork;
import java.io.PrintWriter;
import java.io.Writer;
import java.net.InetAddress;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.FutureTask;
import picocli.CommandLine;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Option;

/**
 * Both ends of a program in this process: the command runs twice, as server and as client, on two
 * software devices with two ports each.
 *
 * <p>The client prints what it prints when it runs alone; lines of the server begin with {@code
 * server:}.
 */
public final class BothEnds {
  public static final String OPTION = "--both-ends";

  public static final String DESCRIPTION =
      "Run the server and the client in this process, between two software devices.";

  public static final String SERVER_DEVICE = "soft0";
  public static final String CLIENT_DEVICE = "soft1";
  public static final String SERVER_ADDRESS = "192.0.2.1";
  public static final String CLIENT_ADDRESS = "192.0.2.2";

  /** The host of a server that is connected over TCP. */
  public static final String TCP_HOST = "127.0.0.1";

  private static final List<List<InetAddress>> SERVER_PORTS = ports(SERVER_ADDRESS, "198.51.100.1");
  private static final List<List<InetAddress>> CLIENT_PORTS = ports(CLIENT_ADDRESS, "198.51.100.2");

  /** What the thread of a server does when clients can connect. */
  private static final ThreadLocal<Runnable> READY = new ThreadLocal<>();

  @Option(names = OPTION, description = DESCRIPTION)
  private boolean wanted;

  @Mixin
  @SuppressWarnings("UnusedVariable") // Required by picocli.
  private Tracing tracing;

  @Mixin
  @SuppressWarnings("UnusedVariable") // Required by picocli.
  private ProfileOption profile;

  private static List<List<InetAddress>> ports(String first, String second) {
    return List.of(List.of(InetAddress.ofLiteral(first)), List.of(InetAddress.ofLiteral(second)));
  }

  public boolean wanted() {
    return wanted;
  }

  /** Returns the arguments of a command for one end: without what is for both, and further ones. */
  public static List<String> arguments(CommandSpec command, String... more) {
    List<String> arguments =
        ProfileOption.without(command.root().commandLine().getParseResult().originalArgs());
    arguments.removeAll(List.of(OPTION, Tracing.OPTION));
    arguments.addAll(List.of(more));
    return arguments;
  }

  /** Reports that clients can connect, if the server of this thread has its client here. */
  public static void serverIsReady() {
    Runnable action = READY.get();
    if (action != null) {
      action.run();
    }
  }

  /**
   * Runs two commands.
   *
   * @param command the command that was given
   * @return the exit status of the client; that of the server if the client succeeds
   */
  public static int run(CommandSpec command, List<String> server, List<String> client)
      throws Exception {
    PrintWriter out = command.commandLine().getOut();
    PrintWriter err = command.commandLine().getErr();
    try (SoftNetwork network = SoftNetwork.create()) {
      ProfileOption.apply(command, network);
      network.addDevice(SERVER_DEVICE, SERVER_PORTS);
      network.addDevice(CLIENT_DEVICE, CLIENT_PORTS);
      err.println(
          "Both ends run in this process, on software devices: the server on "
              + SERVER_DEVICE
              + ", the client on "
              + CLIENT_DEVICE
              + ".");
      if (Tracing.isWanted(command)) {
        network.trace(err::println);
      }
      Cli root = (Cli) command.root().userObject();
      return network.call(() -> run(root, out, err, server, client));
    }
  }

  private static int run(
      Cli root, PrintWriter out, PrintWriter err, List<String> server, List<String> client)
      throws Exception {
    CompletableFuture<Boolean> ready = new CompletableFuture<>();
    FutureTask<Integer> serving =
        new FutureTask<>(
            () -> {
              READY.set(() -> ready.complete(true));
              try {
                return run(root, ofServer(out), ofServer(err), server);
              } finally {
                ready.complete(false);
              }
            });
    // A virtual thread: an interrupt ends its wait for a TCP connection, too.
    Thread thread = Thread.ofVirtual().name("server").start(serving);
    int status = ready.get() ? run(root, out, err, client) : 0;
    if (status != 0) {
      thread.interrupt();
      boolean _ = Thread.interrupted(); // If that ended the client, the server still is to end.
    }
    thread.join();
    return status != 0 ? status : serving.get();
  }

  private static int run(Cli root, PrintWriter out, PrintWriter err, List<String> arguments) {
    return root.again()
        .run(CommandLine.defaultFactory(), out, err, arguments.toArray(String[]::new));
  }

  private static PrintWriter ofServer(PrintWriter out) {
    return new PrintWriter(new ServerLines(out), true);
  }

  /** Marks the lines of the server. */
  private static final class ServerLines extends Writer {
    private final PrintWriter out;
    private final StringBuilder line = new StringBuilder();

    ServerLines(PrintWriter out) {
      this.out = out;
    }

    @Override
    public void write(char[] text, int offset, int length) {
      for (int i = offset; i < offset + length; i++) {
        if (text[i] == '\n') {
          out.println(line.isEmpty() ? "server:" : "server: " + line);
          line.setLength(0);
        } else {
          line.append(text[i]);
        }
      }
    }

    @Override
    public void flush() {
      out.flush();
    }

    @Override
    public void close() {
      out.flush();
    }
  }
}
