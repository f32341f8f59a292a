package dev.verbena.cm;

import static dev.verbena.messages.ConnectionSettings.DEFAULT;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.verbena.Errno;
import dev.verbena.RdmaException;
import dev.verbena.internal.Binding;
import dev.verbena.internal.Libibverbs;
import dev.verbena.internal.Librdmacm;
import dev.verbena.internal.time.Time;
import dev.verbena.messages.Connection;
import dev.verbena.messages.RequestClient;
import dev.verbena.messages.RequestServer;
import dev.verbena.soft.Faults;
import dev.verbena.soft.InSimulation;
import dev.verbena.soft.SoftHosts;
import dev.verbena.testing.Background;
import dev.verbena.testing.LoggedMessages;
import dev.verbena.values.AccessFlag;
import dev.verbena.values.QueuePairCapacity;
import dev.verbena.values.QueuePairType;
import dev.verbena.verbs.CompletionQueue;
import dev.verbena.verbs.Context;
import dev.verbena.verbs.ProtectionDomain;
import dev.verbena.verbs.QueuePair;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.concurrent.FutureTask;
import java.util.function.Function;
import java.util.logging.Level;
import java.util.stream.Collectors;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

/**
 * Each verb of a close fails once: the close throws the failure without a wait, the next one closes
 * the rest, and nothing remains open.
 */
@InSimulation
class FailingCloseTest {
  private static final Duration SOON = Duration.ofSeconds(1);
  private static final InetSocketAddress CLIENT =
      new InetSocketAddress(InetAddress.ofLiteral("192.0.2.1"), 0);

  /** An open object, and what uses it or belongs to its peer. */
  static final class Opened implements AutoCloseable {
    final SoftHosts hosts = SoftHosts.create();
    private final List<AutoCloseable> others = new ArrayList<>();

    <T extends AutoCloseable> T with(T other) {
      others.add(other);
      return other;
    }

    Listener listen() throws Exception {
      return hosts.call(() -> Listener.open(new InetSocketAddress(hosts.serverAddress(), 0)));
    }

    Endpoint resolve(Listener listener) throws Exception {
      return hosts.call(
          () ->
              Endpoint.resolve(
                  PortSpace.TCP, CLIENT, listener.address().orElseThrow(), DEFAULT.timeout()));
    }

    Connection connect(Listener listener) throws Exception {
      return hosts.call(
          () ->
              Connection.connect(
                  listener.address().orElseThrow(), DEFAULT.withLocalAddress(CLIENT)));
    }

    RequestServer serve() throws Exception {
      InetSocketAddress local = new InetSocketAddress(hosts.serverAddress(), 0);
      return hosts.call(
          () -> RequestServer.builder(local, request -> request.answer(1)).clients(2).open());
    }

    RequestClient call(RequestServer server) throws Exception {
      FutureTask<Void> running =
          Background.inBackground(
              () -> {
                server.run();
                return null;
              });
      InetSocketAddress address = new InetSocketAddress(hosts.serverAddress(), server.port());
      RequestClient client =
          hosts.call(() -> RequestClient.connect(address, DEFAULT.withLocalAddress(CLIENT)));
      assertEquals(1, client.call(new byte[1], DEFAULT.timeout()).length);
      others.add(running::get); // Once the server is closed.
      return client;
    }

    @Override
    public void close() {
      try {
        for (AutoCloseable other : others.reversed()) {
          other.close();
        }
      } catch (Exception e) {
        throw new AssertionError(e);
      }
      hosts.close();
    }
  }

  /** What is closed. */
  enum Kind {
    CONTEXT {
      @Override
      AutoCloseable open(Opened place) {
        Context context = place.hosts.clientContext().device().open();
        var queue = context.completionQueue(4).channel(context.createCompletionChannel()).create();
        ProtectionDomain domain = context.allocateProtectionDomain();
        domain.allocateMemory(64, AccessFlag.LOCAL_WRITE);
        create(domain, queue);
        return context;
      }
    },
    EVENT_CHANNEL {
      @Override
      AutoCloseable open(Opened place) throws Exception {
        EventChannel channel = place.hosts.call(EventChannel::open);
        ConnectionId id = channel.createId(PortSpace.TCP);
        id.bind(CLIENT);
        id.queues().createQueuePairOnOneChannel(id.domain(), QueuePairCapacity.of(4));
        return channel;
      }
    },
    ENDPOINT {
      @Override
      AutoCloseable open(Opened place) throws Exception {
        Endpoint endpoint = place.resolve(place.with(place.listen()));
        endpoint
            .id()
            .queues()
            .createQueuePairOnOneChannel(endpoint.id().domain(), QueuePairCapacity.of(4));
        return endpoint;
      }
    },
    LISTENER {
      @Override
      AutoCloseable open(Opened place) throws Exception {
        Listener listener = place.listen();
        listener.domain().allocateMemory(64, AccessFlag.LOCAL_WRITE);
        return listener;
      }
    },
    STOPPED_LISTENER {
      @Override
      AutoCloseable open(Opened place) throws Exception {
        Listener listener = (Listener) LISTENER.open(place);
        listener.stop();
        return listener;
      }
    },
    STOPPING_LISTENER {
      @Override
      AutoCloseable open(Opened place) throws Exception {
        Listener listener = (Listener) LISTENER.open(place);
        return () -> {
          listener.stop();
          listener.close();
        };
      }
    },
    ACCEPTING_LISTENER {
      @Override
      AutoCloseable open(Opened place) throws Exception {
        Listener listener = place.listen();
        FutureTask<Connection> accepting =
            Background.inBackground(() -> Connection.accept(listener));
        List<FutureTask<Connection>> connecting = new ArrayList<>();
        for (int i = 0; i < 2; i++) {
          connecting.add(Background.inBackground(() -> place.connect(listener)));
        }
        for (FutureTask<Connection> each : connecting) {
          place.with(each.get());
        }
        place.with(accepting.get()); // The other one was not returned.
        return listener;
      }
    },
    CONNECTING_CONNECTION {
      @Override
      AutoCloseable open(Opened place) throws Exception {
        Listener listener = place.with(place.listen());
        FutureTask<Connection> accepting =
            Background.inBackground(() -> Connection.accept(listener));
        Connection connected = place.connect(listener);
        place.with(accepting.get());
        return connected;
      }
    },
    ACCEPTED_CONNECTION {
      @Override
      AutoCloseable open(Opened place) throws Exception {
        Listener listener = place.with(place.listen());
        FutureTask<Connection> accepting =
            Background.inBackground(() -> Connection.accept(listener));
        place.with(place.connect(listener));
        return accepting.get();
      }
    },
    REQUEST_CLIENT {
      @Override
      AutoCloseable open(Opened place) throws Exception {
        RequestServer server = place.serve();
        RequestClient client = place.call(server);
        place.with(server);
        return client;
      }
    },
    REQUEST_SERVER {
      @Override
      AutoCloseable open(Opened place) throws Exception {
        RequestServer server = place.serve();
        place.with(place.call(server));
        return server;
      }
    };

    abstract AutoCloseable open(Opened place) throws Exception;
  }

  private static void create(ProtectionDomain domain, CompletionQueue queue) {
    var _ =
        QueuePair.builder(domain, QueuePairType.RC)
            .completions(queue)
            .capacity(QueuePairCapacity.of(4))
            .create();
  }

  /** How often a close calls each function that destroys something. */
  private static Map<String, Long> calls(Kind kind) throws Exception {
    try (Opened place = new Opened()) {
      AutoCloseable object = kind.open(place);
      try (LoggedMessages calls = new LoggedMessages("dev.verbena.calls", Level.FINER, "")) {
        object.close();
        return calls.all().stream()
            .map(line -> line.substring("FINER: ".length(), line.indexOf('(')))
            .filter(FailingCloseTest::destroys)
            // librdmacm, which deallocates its own domain, does not look at the result.
            .filter(function -> kind == Kind.CONTEXT || !function.equals("ibv_dealloc_pd"))
            .collect(Collectors.groupingBy(Function.identity(), Collectors.counting()));
      }
    }
  }

  private static boolean destroys(String function) {
    return function.matches("(ibv|rdma)_(close|dealloc|dereg|destroy|free)_.*")
        && !Binding.infallible(Libibverbs.class).contains(function)
        && !Binding.infallible(Librdmacm.class).contains(function);
  }

  @ParameterizedTest
  @EnumSource
  void closeThrowsWhatFailedAndClosesTheRestLater(Kind kind) throws Exception {
    Map<String, Long> calls = calls(kind);
    assertFalse(calls.isEmpty());
    for (var each : calls.entrySet()) {
      for (int call = 1; call <= each.getValue(); call++) {
        String what = "%s %d of %s".formatted(each.getKey(), call, calls);
        try (Opened place = new Opened()) {
          AutoCloseable object = kind.open(place);
          Faults _ = place.hosts.faults().fail(each.getKey(), call, Errno.ENOMEM);
          long start = Time.now();
          RdmaException failure = assertThrows(RdmaException.class, object::close, what);
          assertTrue(failure.getMessage().contains("a fault that was asked for"), what);
          object.close();
          assertTrue(Time.now() - start < SOON.toNanos(), what);
        }
      }
    }
  }

  @Test
  void aContextOfAnIdentifierLogsEventsAfterAFailedClose() throws Exception {
    try (Opened place = new Opened();
        EventChannel channel = place.hosts.call(EventChannel::open);
        ConnectionId id = channel.createId(PortSpace.TCP);
        LoggedMessages messages =
            new LoggedMessages("dev.verbena", Level.WARNING, "asynchronous event")) {
      id.bind(CLIENT);
      Context context = id.context();
      CompletionQueue _ = context.createCompletionQueue(4);
      Faults _ = place.hosts.faults().fail("ibv_destroy_cq", 1, Errno.ENOMEM);
      assertThrows(RdmaException.class, context::close);
      place.hosts.network().removeDevice("client");
      for (int i = 0; i < 2; i++) { // Of the context of the hosts, too.
        assertTrue(messages.next().contains("DEVICE_FATAL"));
      }
      context.close();
    }
  }
}
