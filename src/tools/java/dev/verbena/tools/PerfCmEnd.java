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

  private PerfCmEnd(Endpoint endpoint, PerfTask task, Duration timeout, Handshake handshake)
      throws InterruptedException {
    super(task, new Link(endpoint, bufferSize(task)), timeout);
    this.endpoint = endpoint;
    try {
      prepare();
      knows(handshake.perform(RemoteMemory.of(link().region()).toBytes()));
    } catch (Throwable t) {
      link().close();
      throw t;
    }
  }

  /** Connects an end by a call of its endpoint: sends the description of its buffer. */
  private interface Handshake {
    RemoteMemory perform(byte[] own) throws InterruptedException;
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
      PerfTask task = PerfTask.of(request);
      RemoteMemory remote =
          RemoteMemory.fromBytes(Arrays.copyOfRange(request, PerfTask.SIZE, request.length));
      return new PerfCmEnd(
          client,
          task,
          timeout,
          own -> {
            client.accept(ConnectionParameters.DEFAULT, own, timeout);
            return remote;
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
      return new PerfCmEnd(
          endpoint,
          task,
          timeout,
          own -> {
            byte[] request =
                ByteBuffer.allocate(PerfTask.SIZE + own.length).put(task.bytes()).put(own).array();
            return RemoteMemory.fromBytes(
                endpoint.connect(ConnectionParameters.DEFAULT, request, timeout).privateData());
          });
    } catch (Throwable t) {
      endpoint.close();
      throw t;
    }
  }

  @Override
  void leave() throws InterruptedException {
    endpoint.disconnect(timeout());
  }

  /** The end of a connection flushes the requests, and is known a moment later. */
  @Override
  RuntimeException causeOf(RuntimeException failure) throws InterruptedException {
    return hasLeft(PAUSE)
        ? new IllegalStateException("the peer has left during the measurement", failure)
        : failure;
  }

  @Override
  boolean hasLeft(Duration time) throws InterruptedException {
    long start = System.nanoTime();
    while (endpoint.end().isEmpty() && System.nanoTime() - start < time.toNanos()) {
      Thread.sleep(POLL_MILLIS);
    }
    return endpoint.end().isPresent();
  }
}
