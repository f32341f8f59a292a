package dev.verbena.messages;

import dev.verbena.cm.ConnectionParameters;
import dev.verbena.cm.ConnectionQueues;
import dev.verbena.cm.Endpoint;
import dev.verbena.cm.PortSpace;
import dev.verbena.cm.Transfers;
import dev.verbena.internal.Deadline;
import dev.verbena.soft.SoftHosts;
import dev.verbena.testing.Await;
import dev.verbena.values.AccessFlag;
import dev.verbena.values.QueuePairCapacity;
import dev.verbena.verbs.Completions;
import dev.verbena.verbs.MemoryRegion;
import java.lang.foreign.MemorySegment;
import java.net.InetAddress;
import java.net.InetSocketAddress;

/** A client of a {@link RequestServer}, or a server, that sends what it likes. */
final class RequestPeer implements AutoCloseable {
  private static final InetSocketAddress LOCAL =
      new InetSocketAddress(InetAddress.ofLiteral("192.0.2.1"), 0);

  /** The kind of a request whose bytes the server reads. */
  static final int LARGE_REQUEST = RequestFrame.REQUEST | RequestFrame.LARGE;

  private static final int REQUESTS = 64;
  private static final int SIZE = 4096;

  final Endpoint endpoint;
  final MemoryRegion memory;
  private final Transfers transfers;
  private final MemoryRegion answers;
  private final Completions completions = new Completions(1);

  private RequestPeer(Endpoint endpoint) {
    this.endpoint = endpoint;
    ConnectionQueues queues = endpoint.id().queues();
    queues.createQueuePairOnOneChannel(
        endpoint.id().domain(), QueuePairCapacity.of(REQUESTS).withReceiveRequests(REQUESTS));
    transfers = queues.transfers();
    memory =
        endpoint.id().domain().allocateMemory(SIZE, AccessFlag.LOCAL_WRITE, AccessFlag.REMOTE_READ);
    answers = endpoint.id().domain().allocateMemory((long) REQUESTS * SIZE, AccessFlag.LOCAL_WRITE);
    for (int i = 0; i < REQUESTS; i++) {
      require(transfers.receive(i, answers, (long) i * SIZE, SIZE));
    }
  }

  /** The other end of a {@link RequestClient}. */
  static RequestPeer accept(Endpoint request) throws InterruptedException {
    RequestPeer peer = new RequestPeer(request);
    request.accept(
        ConnectionParameters.DEFAULT, new RequestFrame.Terms(REQUESTS, 512).toBytes(), Await.LIMIT);
    return peer;
  }

  static RequestPeer connect(SoftHosts hosts, RequestServer server) throws Exception {
    return connect(hosts, server, new RequestFrame.Terms(REQUESTS, 512).toBytes());
  }

  static RequestPeer connect(SoftHosts hosts, RequestServer server, byte[] terms) throws Exception {
    InetSocketAddress address = new InetSocketAddress(hosts.serverAddress(), server.port());
    return hosts.call(
        () -> {
          Endpoint endpoint = Endpoint.resolve(PortSpace.TCP, LOCAL, address, Await.LIMIT);
          try {
            RequestPeer peer = new RequestPeer(endpoint);
            var _ = endpoint.connect(ConnectionParameters.DEFAULT, terms, Await.LIMIT);
            return peer;
          } catch (Throwable t) {
            endpoint.close();
            throw t;
          }
        });
  }

  private static void require(boolean posted) {
    if (!posted) {
      throw new AssertionError("the queue is full");
    }
  }

  /** Sends a message whose length is at least that of a header, or is cut there. */
  void send(long id, int kind, int length) {
    RequestFrame.write(memory.memory(), 0, id, kind, 0);
    require(transfers.send(0, memory, 0, length));
  }

  /** Sends what {@link #memory} begins with. */
  void sendFrame(int length) {
    require(transfers.send(0, memory, 0, length));
  }

  /** Sends the description of memory. */
  void sendLarge(long id, long address, long length, int rkey) {
    RequestFrame.write(memory.memory(), 0, id, LARGE_REQUEST, 0);
    RequestFrame.writeMemory(memory.memory(), RequestFrame.HEADER, address, length, rkey);
    require(transfers.send(0, memory, 0, RequestFrame.HEADER + RequestFrame.MEMORY));
  }

  /** Waits until the last request has been acknowledged, or has failed. */
  boolean awaitSent() throws InterruptedException {
    int count = transfers.awaitSends(completions, Await.LIMIT);
    return count == 1 && completions.isSuccess(0);
  }

  /** Waits for an answer; returns its kind, or -1 at the end of the connection. */
  int answer() throws InterruptedException {
    int count = transfers.awaitReceives(completions, Await.LIMIT);
    if (count == 0 || !completions.isSuccess(0)) {
      return -1;
    }
    MemorySegment bytes = answers.memory();
    return RequestFrame.kind(bytes, completions.id(0) * SIZE);
  }

  /** Waits for a request; returns its id, or -1 at the end of the connection. */
  long takeId() throws InterruptedException {
    int count = transfers.awaitReceives(completions, Await.LIMIT);
    if (count == 0 || !completions.isSuccess(0)) {
      return -1;
    }
    long at = completions.id(0);
    long id = RequestFrame.id(answers.memory(), at * SIZE);
    require(transfers.receive(at, answers, at * SIZE, SIZE));
    return id;
  }

  /** Waits until the server has disconnected. */
  void awaitEnd() throws InterruptedException {
    var _ = endpoint.awaitEnd(Deadline.NEVER);
  }

  void disconnect() {
    endpoint.id().disconnect();
  }

  @Override
  public void close() {
    endpoint.close();
  }
}
