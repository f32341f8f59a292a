package dev.verbena.messages;

import static dev.verbena.messages.ConnectionSettings.DEFAULT;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;

import dev.verbena.Errno;
import dev.verbena.cm.ConnectionException;
import dev.verbena.cm.EventType;
import dev.verbena.soft.Faults;
import dev.verbena.soft.SoftHosts;
import dev.verbena.testing.Await;
import dev.verbena.testing.Background;
import dev.verbena.testing.LoggedMessages;
import dev.verbena.values.AccessFlag;
import dev.verbena.values.AckTimeout;
import dev.verbena.verbs.MemoryRegion;
import dev.verbena.verbs.WorkRequestException;
import java.lang.foreign.MemorySegment;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.time.Duration;
import java.util.List;
import java.util.Set;
import java.util.concurrent.Callable;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.FutureTask;
import java.util.concurrent.Semaphore;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.function.Consumer;
import java.util.logging.Level;
import java.util.logging.LogRecord;
import org.jspecify.annotations.Nullable;

/** A server, of which a polite client goes on calling while another one makes something fail. */
final class ServerWithFailures implements AutoCloseable {
  static final int LARGE = 8192;
  static final String GONE = "disconnected";
  static final String ANSWERED = "answered";
  private static final Duration SOON = Await.LIMIT;
  private static final ConnectionSettings SETTINGS =
      DEFAULT
          .withSends(4)
          .withMessageSize(512)
          .withTimeout(SOON)
          .withCopies(LARGE)
          .withAckTimeout(AckTimeout.ofCode(10));

  /** Causes a failure; returns what the client sees. */
  interface Provocation {
    String seen(ServerWithFailures server) throws Exception;
  }

  private static final RequestServer.Handler ONE = request -> request.answer(1);

  private final SoftHosts hosts = SoftHosts.create();
  private final ExecutorService executor = Executors.newVirtualThreadPerTaskExecutor();
  private final ConcurrentLinkedQueue<String> logged = new ConcurrentLinkedQueue<>();
  private final LoggedMessages log = new LoggedMessages("dev.verbena", Level.FINE, this::log);

  /** Held by a call of the polite client. */
  private final Semaphore calling = new Semaphore(1, true);

  private final AtomicInteger calls = new AtomicInteger();
  private volatile boolean isOver;
  private volatile boolean logFails;
  private volatile RequestServer.Handler failing = ONE;
  private volatile @Nullable Throwable refusal;
  private RequestServer server;
  private FutureTask<Void> running;

  void open(boolean inExecutor) throws Exception {
    InetSocketAddress local = new InetSocketAddress(hosts.serverAddress(), 0);
    server =
        hosts.call(
            () ->
                RequestServer.builder(local, this::handle)
                    .settings(SETTINGS)
                    .clients(2)
                    .largest(LARGE)
                    .executor(inExecutor ? this::execute : null)
                    .open());
    running =
        Background.inBackground(
            () -> {
              server.run();
              return null;
            });
  }

  private static boolean isPolite(Request request) {
    return request.bytes().byteSize() == 7;
  }

  private void handle(Request request) throws Exception {
    (isPolite(request) ? ONE : failing).handle(request);
  }

  private void execute(Runnable task) {
    Throwable t = refusal;
    if (t != null && !isPolite((Request) task)) {
      ServerWithFailures.<RuntimeException>raise(t);
    }
    executor.execute(task);
  }

  @SuppressWarnings({"unchecked", "TypeParameterUnusedInFormals"})
  private static <T extends Throwable> void raise(Throwable t) throws T {
    throw (T) t;
  }

  private boolean log(LogRecord record) {
    String text = record.getMessage() + ": " + record.getThrown();
    if (logFails && text.contains("server on")) {
      throw new IllegalStateException("the log fails");
    }
    boolean isWarning = record.getLevel().intValue() > Level.INFO.intValue();
    boolean isWanted =
        (isWarning && !text.startsWith("asynchronous")) || text.startsWith("client of");
    if (isWanted && !LoggedMessages.isLeak(record)) {
      logged.add(text);
    }
    return false;
  }

  @Override
  public void close() {
    log.close();
    server.close();
    executor.close();
    assertEquals(Set.of("context"), hosts.network().openObjects().keySet());
    hosts.close();
  }

  private RequestClient connect(String local) throws Exception {
    InetSocketAddress address = new InetSocketAddress(hosts.serverAddress(), server.port());
    InetSocketAddress from = new InetSocketAddress(InetAddress.ofLiteral(local), 0);
    return hosts.call(() -> RequestClient.connect(address, SETTINGS.withLocalAddress(from)));
  }

  void fillQueues() {
    Faults _ = hosts.faults().fillQueues("server");
  }

  private void fail(String function, int call) {
    Faults _ = hosts.faults().fail(function, call, Errno.ENOMEM);
  }

  // What clients do, and see

  /** Acts as a client whose server's next calls of some functions fail. */
  String peer(Consumer<RequestPeer> action, String... functions) throws Exception {
    try (RequestPeer peer = RequestPeer.connect(hosts, server)) {
      Await.until("the place of the client", () -> server.clients() == 2);
      for (String function : functions) {
        fail(function, 1);
      }
      action.accept(peer);
      awaitPlace();
      peer.awaitEnd();
      Await.until("what has failed", () -> functions.length == 0 || !logged.isEmpty());
      return GONE;
    }
  }

  private void awaitPlace() throws Exception {
    Await.until("a place", () -> running.isDone() || server.clients() == 1);
    assertFalse(running.isDone(), "run() has ended");
  }

  String callThrowing(Throwable t) throws Exception {
    return call(request -> ServerWithFailures.<Exception>raise(t));
  }

  String callRefused(Throwable t) throws Exception {
    refusal = t;
    String seen = call(ONE);
    refusal = null;
    return seen;
  }

  String callSent(Throwable t) throws Exception {
    try (MemoryRegion region = server.domain().allocateMemory(8)) {
      CountDownLatch told = new CountDownLatch(1);
      String seen =
          call(
              request ->
                  request.answer(
                      region,
                      0,
                      8,
                      () -> {
                        told.countDown();
                        ServerWithFailures.<RuntimeException>raise(t);
                      }));
      told.await();
      return seen;
    }
  }

  String call(RequestServer.Handler handler) throws Exception {
    failing = handler;
    try (RequestClient client = connect("192.0.2.1")) {
      MemorySegment answer = MemorySegment.ofArray(new byte[LARGE]);
      return seen(() -> client.call(MemorySegment.ofArray(new byte[1]), answer, SOON));
    } finally {
      failing = ONE;
    }
  }

  /** Calls after another large request, whose memory the server keeps. */
  String callLarge(long size, String... functions) throws Exception {
    try (RequestClient client = connect("192.0.2.1")) {
      MemoryRegion region =
          client.domain().allocateMemory(size, AccessFlag.LOCAL_WRITE, AccessFlag.REMOTE_READ);
      MemorySegment answer = MemorySegment.ofArray(new byte[8]);
      assertEquals(1, client.call(region, 0, LARGE / 2, answer, SOON));
      for (String function : functions) {
        fail(function, 1);
      }
      return seen(() -> client.call(region, 0, size, answer, SOON));
    }
  }

  String connect(String function, int call) throws Exception {
    fail(function, call);
    return seen(() -> connect("192.0.2.1"));
  }

  private static String seen(Callable<?> call) throws Exception {
    try {
      Object _ = call.call();
      return ANSWERED;
    } catch (RequestFailedException e) {
      return e.getMessage();
    } catch (ConnectionException e) {
      return e.event().type() == EventType.DISCONNECTED ? GONE : e.event().type().toString();
    } catch (WorkRequestException e) {
      return GONE;
    }
  }

  /** Causes a failure while the polite client has no call under way. */
  String alone(Callable<String> provocation) throws Exception {
    calling.acquire();
    try {
      return provocation.call();
    } finally {
      Faults _ = hosts.faults().freeQueues();
      calling.release();
    }
  }

  /** Lets a client make something fail; returns what it sees. The server is closed then. */
  String beside(Provocation provocation) throws Exception {
    var _ = hosts.network().addDevice("other", InetAddress.ofLiteral("192.0.2.3"));
    try (RequestClient polite = connect("192.0.2.3")) {
      FutureTask<Void> going = Background.inBackground(() -> goOn(polite));
      String seen = provocation.seen(this);
      Faults _ = hosts.faults().none();
      logFails = false;
      awaitPlace();
      assertEquals(ANSWERED, call(ONE), "another client has the place");
      int before = calls.get();
      Await.until("further calls", () -> going.isDone() || calls.get() > before + 2);
      isOver = true;
      var _ = going.get();
      assertFalse(running.isDone());
      return seen;
    }
  }

  /** Removes the device; returns why the server has ended. */
  ConnectionException removed(boolean lost) throws Exception {
    try (RequestClient client = connect("192.0.2.1")) {
      assertEquals(1, client.call(new byte[1], SOON).length);
      if (lost) {
        Faults _ = hosts.faults().loseDevice("server");
      } else {
        hosts.network().removeDevice("server");
      }
      var ended = assertThrows(ExecutionException.class, () -> running.get());
      return (ConnectionException) ended.getCause();
    }
  }

  RequestServer server() {
    return server;
  }

  void failLog() {
    logFails = true;
  }

  /** Returns what was logged until the server was closed, which this does. */
  List<String> logged() {
    server.close();
    executor.close();
    return List.copyOf(logged);
  }

  private @Nullable Void goOn(RequestClient polite) throws Exception {
    while (!isOver) {
      calling.acquire();
      try {
        assertEquals(1, polite.call(new byte[7], SOON).length);
      } finally {
        calling.release();
      }
      calls.incrementAndGet();
      Await.pass(Duration.ofMillis(1), "few calls in an hour of the simulation");
    }
    return null;
  }
}
