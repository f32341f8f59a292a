package dev.verbena.tools.command;

import dev.verbena.RdmaException;
import dev.verbena.VerbsException;
import dev.verbena.verbs.Verbena;
import dev.verbena.verbs.Verbena.Unsupported;
import java.io.IOException;
import java.io.PrintWriter;
import java.net.ConnectException;
import java.net.SocketException;
import java.util.Optional;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine;
import picocli.CommandLine.Command;
import picocli.CommandLine.IFactory;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Option;
import picocli.CommandLine.ParseResult;
import picocli.CommandLine.ScopeType;
import picocli.CommandLine.Spec;

/** The root of a command line: the options of all commands, how they run, and how they fail. */
@Command(
    synopsisSubcommandLabel = "COMMAND",
    scope = ScopeType.INHERIT,
    sortOptions = false,
    exitCodeListHeading = "%nExit status:%n",
    exitCodeList = {
      " 0:done",
      " 1:failure, or the doctor found a problem",
      " 2:wrong usage",
      " 3:a requirement is missing on this host: see verbena doctor",
      " 130, 143:ended by SIGINT (Ctrl-C), by SIGTERM"
    })
public abstract class Cli implements Runnable {
  /** The heading of the examples of a command, each of which a test runs or says why not. */
  public static final String EXAMPLES = "%nExamples:%n";

  /** The exit status of a failure. */
  public static final int FAILED = 1;

  /** The exit status if the host does not support RDMA, or the requested kind of it. */
  public static final int UNSUPPORTED = 3;

  @Spec private CommandSpec spec;

  @Option(
      names = {"-h", "--help"},
      usageHelp = true,
      scope = ScopeType.INHERIT,
      description = "Show this help message and exit.")
  @SuppressWarnings("UnusedVariable") // Required by picocli.
  private boolean help;

  @Option(
      names = {"-V", "--version"},
      versionHelp = true,
      description = "Print version information and exit.")
  @SuppressWarnings("UnusedVariable") // Required by picocli.
  private boolean version;

  @Option(
      names = "--verbose",
      scope = ScopeType.INHERIT,
      description = "Show the stack trace of an error.")
  private boolean verbose;

  /** Returns a new object of the same class: each run has its own. */
  protected abstract Cli again();

  /** Runs a command, and ends the JVM with its exit status. */
  protected final void runAndExit(String... args) {
    PrintWriter out = new PrintWriter(System.out, true, System.out.charset());
    PrintWriter err = new PrintWriter(System.err, true, System.err.charset());
    System.exit(Signals.run(() -> run(CommandLine.defaultFactory(), out, err, args)));
  }

  /** Runs a command with a factory of its options, and returns its exit status. */
  public final int run(IFactory factory, PrintWriter out, PrintWriter err, String... args) {
    CommandLine line = new CommandLine(this, factory);
    line.getCommandSpec().version("verbena " + Verbena.version());
    int status =
        line.setOut(out)
            .setErr(err)
            .setCaseInsensitiveEnumValuesAllowed(true)
            .setExecutionStrategy(UdpDevice::execute)
            .setParameterExceptionHandler(Misuse::report)
            .setExecutionExceptionHandler(Cli::failed)
            .execute(args);
    // A PrintWriter throws no exception, on a full disk or a closed pipe for example.
    if (out.checkError()) {
      err.println(line.getCommandName() + ": the output could not be written");
      return status == 0 ? FAILED : status;
    }
    return status;
  }

  private static int failed(Exception e, CommandLine command, ParseResult result) {
    tell(e, command);
    Throwable cause = e instanceof Failure ? e.getCause() : e;
    boolean ofDevices = cause instanceof VerbsException || isWithoutDevice(cause);
    if (ofDevices && !hasOwnDevices(command)) {
      // Unless the error has said so, or there is a device.
      Verbena.unsupportedReason()
          .map(Unsupported::explanation)
          .filter(text -> !String.valueOf(cause.getMessage()).contains(BothEnds.OPTION))
          .filter(text -> !text.equals(cause.getMessage()))
          .ifPresent(command.getErr()::println);
    }
    if (e instanceof InterruptedException) {
      Thread.currentThread().interrupt();
    }
    return isUnsupported(cause) ? UNSUPPORTED : FAILED;
  }

  /** Whether a channel has found no device, as opposed to a peer that refuses it. */
  private static boolean isWithoutDevice(@Nullable Throwable cause) {
    return cause instanceof SocketException && !(cause instanceof ConnectException);
  }

  /** Whether the command ran on software devices of its own. */
  private static boolean hasOwnDevices(CommandLine command) {
    ParseResult options = command.getParseResult();
    return options.hasMatchedOption(BothEnds.OPTION) || options.hasMatchedOption(UdpDevice.OPTION);
  }

  /** Prints an error, in one line unless --verbose is given. */
  public static void tell(Exception e, CommandLine command) {
    PrintWriter err = command.getErr();
    if (e instanceof Failure) {
      err.println(e.getMessage());
      Optional.ofNullable(e.getCause()).map(Throwable::getMessage).ifPresent(err::println);
    } else {
      err.println(command.getCommandSpec().qualifiedName() + ": " + message(e));
    }
    if (((Cli) command.getCommandSpec().root().userObject()).verbose) {
      e.printStackTrace(err);
    } else if (isSurprise(e)) {
      err.println("(--verbose shows the stack trace)");
    }
  }

  /** Returns whether the cause of an error is a host without RDMA, whatever the errno. */
  private static boolean isUnsupported(Throwable e) {
    return e instanceof UnsupportedOperationException
        || e instanceof IllegalCallerException
        || (e instanceof VerbsException verbs && (verbs.isUnsupported() || !Verbena.isSupported()));
  }

  /** Returns the message of an error, in one line. */
  public static String message(Exception e) {
    if (e instanceof InterruptedException) {
      return "interrupted";
    }
    return e.getMessage() == null || isSurprise(e) ? e.toString() : e.getMessage();
  }

  /** Returns whether the message alone does not explain the error. */
  private static boolean isSurprise(Exception e) {
    return !(e instanceof RdmaException
        || e instanceof Failure
        || e instanceof IllegalStateException
        || e instanceof IllegalArgumentException
        || e instanceof UnsupportedOperationException
        || e instanceof IllegalCallerException
        || e instanceof InterruptedException
        || e instanceof IOException);
  }

  @Override
  public void run() {
    throw Failure.usage(spec, "missing command");
  }
}
