package dev.verbena.tools;

import dev.verbena.cm.ConnectionParameters;
import dev.verbena.cm.Endpoint;
import dev.verbena.cm.Listener;
import dev.verbena.cm.PortSpace;
import dev.verbena.tools.command.BothEnds;
import dev.verbena.tools.command.Link;
import dev.verbena.verbs.RemoteMemory;
import java.net.InetSocketAddress;
import java.nio.ByteBuffer;
import java.time.Duration;
import java.util.Arrays;

/**
 * An end connected by RDMA CM: the private data of both has the description of the buffer, that of
 * the client begins with the task.
 */
final class PerfCmEnd extends PerfEnd {
  private static final int POLL_MILLIS = 10;

  private final Endpoint endpoint;

  private PerfCmEnd(Endpoint endpoint, PerfTask task, Duration timeout) {
    super(task, new Link(endpoint, bufferSize(task)), timeout);
    this.endpoint = endpoint;
    prepare();
  }

  static PerfEnd serve(InetSocketAddress local, Duration timeout) throws InterruptedException {
    try (Listener listener = Listener.open(local)) {
      BothEnds.serverIsReady();
      return accept(listener.take(), timeout);
    }
  }

  /** Accepts a client, whose request has the task. */
  static PerfEnd accept(Endpoint client, Duration timeout) throws InterruptedException {
    try {
      byte[] request = client.request().orElseThrow().privateData();
      return connected(
          new PerfCmEnd(client, PerfTask.of(request), timeout),
          end -> {
            end.knows(
                RemoteMemory.fromBytes(Arrays.copyOfRange(request, PerfTask.SIZE, request.length)));
            client.accept(ConnectionParameters.DEFAULT, end.description(), timeout);
          });
    } catch (Throwable t) {
      client.close();
      throw t;
    }
  }

  static PerfEnd visit(
      InetSocketAddress local, InetSocketAddress server, PerfTask task, Duration timeout)
      throws InterruptedException {
    Endpoint endpoint = Endpoint.resolve(PortSpace.TCP, local, server, timeout);
    try {
      return connected(
          new PerfCmEnd(endpoint, task, timeout),
          end -> {
            byte[] request =
                ByteBuffer.allocate(PerfTask.SIZE + RemoteMemory.SIZE)
                    .put(task.bytes())
                    .put(end.description())
                    .array();
            end.knows(
                RemoteMemory.fromBytes(
                    endpoint
                        .connect(ConnectionParameters.DEFAULT, request, timeout)
                        .privateData()));
          });
    } catch (Throwable t) {
      endpoint.close();
      throw t;
    }
  }

  /** Connects an end by a call of its endpoint. */
  private interface Handshake {
    void perform(PerfCmEnd end) throws InterruptedException;
  }

  /** Returns the connected end; closes its link if the connection fails. */
  private static PerfEnd connected(PerfCmEnd end, Handshake handshake) throws InterruptedException {
    try {
      handshake.perform(end);
      return end;
    } catch (Throwable t) {
      end.link().close();
      throw t;
    }
  }

  private byte[] description() {
    return RemoteMemory.of(link().region()).toBytes();
  }

  @Override
  void leave() throws InterruptedException {
    endpoint.disconnect(timeout());
  }

  @Override
  boolean hasLeft(Duration time) throws InterruptedException {
    for (long millis = 0; millis < time.toMillis(); millis += POLL_MILLIS) {
      if (endpoint.end().isPresent()) {
        return true;
      }
      Thread.sleep(POLL_MILLIS);
    }
    return endpoint.end().isPresent();
  }
}
