package dev.verbena.messages;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.verbena.cm.ConnectionException;
import dev.verbena.cm.EventType;
import dev.verbena.soft.InSimulation;
import dev.verbena.verbs.MemoryRegion;
import java.util.List;
import java.util.regex.Pattern;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.Arguments;
import org.junit.jupiter.params.provider.MethodSource;
import org.junit.jupiter.params.provider.ValueSource;

/**
 * The list of what one connection makes fail in the threads of a server: each ends its request or
 * its connection alone, with a reason, while another client goes on calling. {@link
 * RequestFaultsTest} has clients that vanish, and fails each verb at each of its calls.
 */
@InSimulation
class SourcesOfFailuresTest {
  private static final int LARGE = ServerWithFailures.LARGE;
  private static final String GONE = ServerWithFailures.GONE;
  private static final String REJECTED = "REJECTED";
  private static final String NO_REQUEST = "failed: .* is no request";

  /** What fails, what the client sees of it, and what is logged, as a regular expression. */
  enum Source {
    // Messages
    FRAME_OF_NO_KIND(GONE, NO_REQUEST, t -> t.peer(p -> p.send(0, -1, 16))),
    FRAME_WITHOUT_HEADER(GONE, NO_REQUEST, t -> t.peer(p -> p.send(0, 1, 3))),
    NO_ADDRESS(GONE, "failed: .* no remote address", t -> t.peer(p -> p.sendLarge(0, 0, 8, 0))),
    WRONG_KEY(GONE, "failed: .*ACCESS", t -> t.peer(p -> p.sendLarge(0, p.memory.start(), 8, 0))),
    TOO_LARGE("exceeds the maximum", null, t -> t.callLarge(LARGE + 1)),

    // Memory, and what is posted
    REGISTRATION("ENOMEM", null, t -> t.callLarge(LARGE, "ibv_reg_mr_iova")),
    DEREGISTRATION("ENOMEM", null, t -> t.callLarge(LARGE, "ibv_dereg_mr")),
    READ(
        GONE,
        "failed: .* takes fewer requests",
        t ->
            t.alone(
                () ->
                    t.peer(
                        p -> {
                          t.fillQueues();
                          p.sendLarge(0, p.memory.start(), 64, p.memory.rkey());
                        }))),
    ANSWER(
        GONE,
        "failed: .* takes fewer requests",
        t ->
            t.alone(
                () ->
                    t.call(
                        request -> {
                          t.fillQueues();
                          request.answer(1);
                        }))),
    MEMORY_OF_AN_ANSWER(
        GONE,
        "failed: .* closed",
        t ->
            t.call(
                request -> {
                  try (MemoryRegion region = t.server().domain().allocateMemory(LARGE)) {
                    request.answer(region, 0, LARGE, null);
                  }
                })),
    SENT(
        ServerWithFailures.ANSWERED,
        "unexpected.*: sent",
        t -> t.callSent(new IllegalStateException("sent"))),
    SENT_ERROR(
        ServerWithFailures.ANSWERED,
        "unexpected.*: sent",
        t -> t.callSent(new AssertionError("sent"))),

    // The handler, and who calls it
    HANDLER("no such key", null, t -> t.callThrowing(new Exception("no such key"))),
    HANDLER_WITHOUT_MESSAGE("NullPointer", null, t -> t.callThrowing(new NullPointerException())),
    HANDLER_ERROR("heap", null, t -> t.callThrowing(new OutOfMemoryError("heap"))),
    HANDLER_WHOSE_REASON_FAILS(GONE, "failed: .*: none", t -> t.callThrowing(new Reasonless())),
    NO_ANSWER("has not answered", null, t -> t.call(request -> {})),
    SECOND_ANSWER(
        "has an answer already",
        null,
        t ->
            t.call(
                request -> {
                  request.answer(1);
                  request.answer(1);
                })),
    EXECUTOR("full", null, t -> t.callRefused(new IllegalStateException("full"))),
    EXECUTOR_ERROR("thread", null, t -> t.callRefused(new OutOfMemoryError("thread"))),

    // The connection
    QUEUE_PAIR(REJECTED, "client of .*ENOMEM", t -> t.connect("rdma_create_qp_ex", 2)),
    MESSAGES(REJECTED, "client of .*ENOMEM", t -> t.connect("ibv_reg_mr_iova", 4)),
    ACCEPT(REJECTED, "client of .*ENOMEM", t -> t.connect("rdma_accept", 1)),
    DISCONNECT(GONE, NO_REQUEST, t -> t.peer(p -> p.send(0, -1, 16), "rdma_disconnect")),
    STATE(
        GONE,
        NO_REQUEST + "|unexpected .*ENOMEM",
        t -> t.peer(p -> p.send(0, -1, 16), "rdma_disconnect", "ibv_modify_qp")),
    DESTROY(GONE, "unexpected .*ENOMEM", t -> t.peer(RequestPeer::disconnect, "ibv_destroy_qp")),
    MEMORY(GONE, "unexpected .*ENOMEM", t -> t.peer(RequestPeer::disconnect, "ibv_dereg_mr")),

    // The log
    LOGGER(
        GONE,
        "unexpected .*the log fails",
        t -> {
          t.failLog();
          return t.peer(p -> p.send(0, -1, 16));
        }),
    LOGGER_OF_A_CONNECTION(
        REJECTED,
        null,
        t -> {
          t.failLog();
          return t.connect("rdma_accept", 1);
        });

    private final String seen;
    private final @Nullable String logged;
    private final ServerWithFailures.Provocation provocation;

    Source(String seen, @Nullable String logged, ServerWithFailures.Provocation provocation) {
      this.seen = seen;
      this.logged = logged;
      this.provocation = provocation;
    }
  }

  /** An exception that does not say what has happened. */
  @SuppressWarnings("serial")
  private static final class Reasonless extends Exception {
    @Override
    public String getMessage() {
      throw new IllegalStateException("none");
    }
  }

  private final ServerWithFailures server = new ServerWithFailures();

  @AfterEach
  void close() {
    server.close();
  }

  private static Stream<Arguments> sources() {
    return Stream.of(Source.values())
        .flatMap(
            source ->
                (source.name().startsWith("EXECUTOR") ? Stream.of(true) : Stream.of(false, true))
                    .map(inExecutor -> Arguments.of(source, inExecutor)));
  }

  @ParameterizedTest
  @MethodSource("sources")
  void harmsNobodyElse(Source source, boolean inExecutor) throws Exception {
    server.open(inExecutor);
    String seen = server.beside(source.provocation);
    assertTrue(seen.contains(source.seen), seen);
    List<String> logged = server.logged();
    assertEquals(source.logged == null, logged.isEmpty(), logged::toString);
    for (String each : logged) {
      assertTrue(Pattern.compile(source.logged).matcher(each).find(), each);
    }
  }

  /** What ends the server, too. */
  @ParameterizedTest
  @ValueSource(booleans = {false, true})
  void removedDeviceEndsTheServerWithItsReason(boolean lost) throws Exception {
    server.open(false);
    ConnectionException removal = server.removed(lost);
    assertEquals(EventType.DEVICE_REMOVAL, removal.event().type());
    assertEquals(0, server.server().clients());
    List<String> logged = server.logged();
    assertTrue(logged.stream().noneMatch(each -> each.contains("unexpected")), logged::toString);
  }
}
