package dev.verbena.sockets;

import static org.junit.platform.engine.discovery.ClassNameFilter.excludeClassNamePatterns;
import static org.junit.platform.engine.discovery.DiscoverySelectors.selectIteration;
import static org.junit.platform.engine.discovery.DiscoverySelectors.selectMethod;
import static org.junit.platform.engine.discovery.DiscoverySelectors.selectPackage;

import dev.verbena.testing.LoggedMessages;
import io.netty.testsuite.transport.socket.SocketSslEchoTest;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.lang.reflect.Method;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.net.Socket;
import java.nio.channels.spi.SelectorProvider;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.util.List;
import java.util.Set;
import java.util.logging.Level;
import java.util.stream.IntStream;
import java.util.stream.Stream;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.platform.engine.FilterResult;
import org.junit.platform.engine.TestExecutionResult;
import org.junit.platform.engine.UniqueId;
import org.junit.platform.engine.discovery.IterationSelector;
import org.junit.platform.engine.support.descriptor.ClassSource;
import org.junit.platform.engine.support.descriptor.MethodSource;
import org.junit.platform.launcher.PostDiscoveryFilter;
import org.junit.platform.launcher.TestExecutionListener;
import org.junit.platform.launcher.TestIdentifier;
import org.junit.platform.launcher.core.LauncherDiscoveryRequestBuilder;
import org.junit.platform.launcher.core.LauncherFactory;

/**
 * Runs Netty's tests of socket channels, unchanged, with the default provider of this JVM, and
 * appends to a file what each did, as {@link NettySuiteTest} reads it.
 */
final class NettySuiteMain implements TestExecutionListener {
  /** Limits of time in their code decide: a busy machine may miss them over any channels. */
  private static final Set<String> BY_TIME =
      Set.of(
          "TrafficShapingHandlerTest",
          "SocketExceptionHandlingTest",
          "SocketReadPendingTest",
          "testConnectTimeout",
          "testConnectCancellation");

  private final Path results;

  private NettySuiteMain(Path results) {
    this.results = results;
  }

  /**
   * Takes the file, and how many cases of {@code SocketSslEchoTest}, which take most of the time,
   * to go on from each one that runs.
   */
  public static void main(String[] args) throws IOException {
    try (LoggedMessages log = new LoggedMessages("dev.verbena.sockets", Level.FINE, "connection");
        ServerSocket full = new ServerSocket(0, 1, InetAddress.getByName("127.0.0.9"));
        Socket _ = new Socket(full.getInetAddress(), full.getLocalPort());
        Socket _ = new Socket(full.getInetAddress(), full.getLocalPort())) {
      // Nobody answers there: the queue of the listener is full, and it is no address of a device.
      System.setProperty("io.netty.testsuite.badHost", full.getInetAddress().getHostAddress());
      System.setProperty("io.netty.testsuite.badPort", Integer.toString(full.getLocalPort()));
      NettySuiteMain main = new NettySuiteMain(Path.of(args[0]));
      main.run(
          LauncherDiscoveryRequestBuilder.request()
              .selectors(selectPackage(SocketSslEchoTest.class.getPackageName()))
              .filters(
                  // Datagram channels are those of the JDK.
                  excludeClassNamePatterns(".*\\.Datagram.*", ".*\\.SocketSslEchoTest"),
                  (PostDiscoveryFilter)
                      test ->
                          FilterResult.includedIf(
                              BY_TIME.stream()
                                  .noneMatch(test.getUniqueId().toString()::contains))));
      main.run(LauncherDiscoveryRequestBuilder.request().selectors(tls(Integer.parseInt(args[1]))));
      List<String> connections = log.all();
      long byRdma = connections.stream().filter(message -> message.contains(": RDMA")).count();
      System.out.printf("%d of %d connections are RDMA%n", byRdma, connections.size());
      // Some tests connect to TCP sockets.
      boolean isHybrid = SelectorProvider.provider() instanceof HybridSelectorProvider;
      boolean isRight = !isHybrid || (byRdma > 0 && 2 * byRdma >= connections.size());
      System.exit(isRight ? 0 : 1); // Ends the threads of Netty.
    }
  }

  private static IterationSelector tls(int step) {
    Method test =
        Stream.of(SocketSslEchoTest.class.getMethods())
            .filter(method -> method.isAnnotationPresent(ParameterizedTest.class))
            .findFirst()
            .orElseThrow();
    int[] cases = IntStream.iterate(0, i -> i < 96, i -> i + step).toArray();
    return selectIteration(selectMethod(SocketSslEchoTest.class, test), cases);
  }

  private void run(LauncherDiscoveryRequestBuilder tests) {
    LauncherFactory.create()
        .execute(
            // Limits of JUnit do not decide: whoever runs the tests notices that none ends.
            tests
                .configurationParameter("junit.jupiter.execution.timeout.mode", "disabled")
                .build(),
            this);
  }

  @Override
  public void executionSkipped(TestIdentifier test, String reason) {
    write(test, "SKIPPED", reason);
  }

  @Override
  public void executionFinished(TestIdentifier test, TestExecutionResult result) {
    Throwable failure = result.getThrowable().orElse(null);
    if (failure != null) {
      failure.printStackTrace(System.out);
    }
    if (test.isTest() || failure != null) {
      write(test, result.getStatus().toString(), String.valueOf(failure));
    }
  }

  private void write(TestIdentifier test, String outcome, String message) {
    String line = String.join("\t", name(test), outcome, message.replaceAll("\\s+", " "));
    try {
      Files.writeString(results, line + "\n", StandardOpenOption.CREATE, StandardOpenOption.APPEND);
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }

  /** The class, the method, and the number of the case if there are several. */
  private static String name(TestIdentifier test) {
    return switch (test.getSource().orElse(null)) {
      case ClassSource source -> source.getJavaClass().getSimpleName();
      case MethodSource source -> {
        UniqueId.Segment last = test.getUniqueIdObject().getLastSegment();
        yield source.getJavaClass().getSimpleName()
            + "."
            + source.getMethodName()
            + (last.getValue().startsWith("#") ? last.getValue() : "");
      }
      case null, default -> test.getDisplayName();
    };
  }
}
