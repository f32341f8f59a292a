package dev.verbena.tools;

import dev.verbena.VerbsException;
import dev.verbena.cm.ConnectionParameters;
import dev.verbena.cm.Endpoint;
import dev.verbena.cm.Listener;
import dev.verbena.cm.PortSpace;
import dev.verbena.cm.RemoteMemory;
import dev.verbena.verbs.SendList;
import java.net.InetSocketAddress;

/**
 * An end connected by RDMA CM: the client's private data has the task, the server's the description
 * of its buffer.
 */
final class PerfCmEnd extends PerfEnd {
  private static final int POLL_MILLIS = 10;
  private static final int PROBE_MILLIS = 2_000;

  private final Endpoint endpoint;

  private PerfCmEnd(Endpoint endpoint, PerfTask task) {
    super(task, new Link(endpoint, 2L * task.size()));
    this.endpoint = endpoint;
    prepare();
  }

  static PerfEnd serve(InetSocketAddress local) throws InterruptedException {
    try (Listener listener = Listener.open(local)) {
      BothEnds.serverIsReady();
      Endpoint client = listener.take();
      try {
        PerfTask task = PerfTask.of(client.request().orElseThrow().privateData());
        return connected(
            new PerfCmEnd(client, task),
            end ->
                client.accept(
                    ConnectionParameters.DEFAULT,
                    RemoteMemory.of(end.link().region()).toBytes(),
                    Patience.WITH_PEER));
      } catch (Throwable t) {
        client.close();
        throw t;
      }
    }
  }

  static PerfEnd visit(InetSocketAddress local, InetSocketAddress server, PerfTask task)
      throws InterruptedException {
    Endpoint endpoint = Endpoint.resolve(PortSpace.TCP, local, server, Patience.WITH_PEER);
    try {
      return connected(
          new PerfCmEnd(endpoint, task),
          end ->
              end.knows(
                  RemoteMemory.fromBytes(
                      endpoint
                          .connect(ConnectionParameters.DEFAULT, task.bytes(), Patience.WITH_PEER)
                          .privateData())));
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

  @Override
  void leave() throws InterruptedException {
    endpoint.disconnect(Patience.WITH_PEER);
  }

  /** A peer that can no longer be reached cannot say that it leaves: probes fail then. */
  @Override
  void awaitLeave() throws InterruptedException {
    SendList probe = new SendList(1, 1);
    probe.write(0).remote(0, 0).signaled();
    for (int millis = 0; endpoint.end().isEmpty(); millis += POLL_MILLIS) {
      Thread.sleep(POLL_MILLIS);
      if (millis % PROBE_MILLIS == PROBE_MILLIS - POLL_MILLIS) {
        probe(probe);
      }
    }
  }

  /** Writes no bytes, which needs no memory of the peer, but its acknowledgment. */
  private void probe(SendList probe) throws InterruptedException {
    try {
      link().post(probe);
      link().await(1);
    } catch (IllegalStateException | VerbsException e) {
      // The end of a connection flushes the probe, and is known a moment later.
      Thread.sleep(PROBE_MILLIS);
      if (endpoint.end().isEmpty()) {
        throw e;
      }
    }
  }
}
