package dev.verbena.tools;

import dev.verbena.cm.ConnectionParameters;
import dev.verbena.cm.Endpoint;
import dev.verbena.cm.Listener;
import dev.verbena.cm.PortSpace;
import dev.verbena.cm.RemoteMemory;
import java.net.InetSocketAddress;
import java.time.Duration;

/**
 * An end connected by RDMA CM: the client's private data has the task, the server's the description
 * of its buffer.
 */
final class PerfCmEnd extends PerfEnd {
  private static final Duration PATIENCE = Duration.ofSeconds(10);

  private final Endpoint endpoint;

  private PerfCmEnd(Endpoint endpoint, PerfTask task) {
    super(task, new Link(endpoint, 2L * task.size()));
    this.endpoint = endpoint;
    prepare();
  }

  static PerfEnd serve(InetSocketAddress local) throws InterruptedException {
    try (Listener listener = Listener.open(local)) {
      Endpoint client = listener.take();
      try {
        PerfTask task = PerfTask.of(client.request().orElseThrow().privateData());
        PerfCmEnd end = new PerfCmEnd(client, task);
        client.accept(
            ConnectionParameters.DEFAULT, RemoteMemory.of(end.link().region()).toBytes(), PATIENCE);
        return end;
      } catch (Throwable t) {
        client.close();
        throw t;
      }
    }
  }

  static PerfEnd visit(InetSocketAddress local, InetSocketAddress server, PerfTask task)
      throws InterruptedException {
    Endpoint endpoint = Endpoint.resolve(PortSpace.TCP, local, server, PATIENCE);
    try {
      PerfCmEnd end = new PerfCmEnd(endpoint, task);
      byte[] answer =
          endpoint.connect(ConnectionParameters.DEFAULT, task.bytes(), PATIENCE).privateData();
      end.knows(RemoteMemory.fromBytes(answer));
      return end;
    } catch (Throwable t) {
      endpoint.close();
      throw t;
    }
  }

  @Override
  void leave() throws InterruptedException {
    endpoint.disconnect(PATIENCE);
  }

  @Override
  void awaitLeave() throws InterruptedException {
    while (endpoint.end().isEmpty()) {
      Thread.sleep(10);
    }
  }
}
