package dev.verbena.sockets;

import static org.junit.jupiter.api.Assertions.assertEquals;

import dev.verbena.cm.ConnectionParameters;
import dev.verbena.cm.Endpoint;
import dev.verbena.values.AccessFlag;
import dev.verbena.values.QueuePairCapacity;
import dev.verbena.verbs.MemoryRegion;
import dev.verbena.verbs.QueuePair;
import dev.verbena.verbs.ReceiveList;

/** A peer by verbs that accepts the request of an rsocket, and sends nothing. */
final class SilentPeer implements AutoCloseable {
  private static final int RECEIVES = 16;
  private static final int TABLE = 1024;
  private static final int BUFFER = 4096;

  private final Endpoint endpoint;
  private final MemoryRegion memory;

  /** Sends the REP, and does not wait for the RTU. */
  SilentPeer(Endpoint request) {
    endpoint = request;
    QueuePair queuePair =
        request
            .id()
            .queues()
            .createQueuePair(QueuePairCapacity.of(1).withReceiveRequests(RECEIVES));
    assertEquals(RECEIVES, queuePair.post(new ReceiveList(RECEIVES, 1), 0, RECEIVES));
    memory =
        request
            .id()
            .domain()
            .allocateMemory(TABLE + BUFFER, AccessFlag.LOCAL_WRITE, AccessFlag.REMOTE_WRITE);
    ConnectionData data =
        new ConnectionData(
            false,
            RECEIVES,
            0,
            new ConnectionData.RemoteMemory(memory.start(), memory.rkey(), ConnectionData.SGES),
            new ConnectionData.RemoteMemory(memory.start() + TABLE, memory.rkey(), BUFFER));
    request.id().accept(ConnectionParameters.DEFAULT, data.toBytes());
  }

  /** As the kernel does first when the process is killed. */
  void deregister() {
    memory.close();
  }

  /** Sends a REJ if the RTU has not arrived, otherwise a DREQ. */
  @Override
  public void close() {
    endpoint.close();
    memory.close();
  }
}
