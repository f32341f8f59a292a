package dev.verbena.cm;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.verbena.values.QueuePairCapacity;
import dev.verbena.verbs.AddressHandle;
import dev.verbena.verbs.Completions;
import dev.verbena.verbs.MemoryRegion;
import dev.verbena.verbs.SendList;
import java.lang.foreign.Arena;
import java.time.Duration;

/**
 * Datagrams as udaddy and mckey exchange them: 100 bytes of whatever, with the number of the
 * sender's queue pair as immediate data (a habit of theirs, not a rule of multicast).
 */
final class NumberedDatagrams implements AutoCloseable {
  static final int COUNT = 10;
  static final int SIZE = 100;
  private static final int HEADER = 40;

  private final Arena arena = Arena.ofShared();
  private final ConnectionId id;
  private final int number;
  private final Transfers transfers;
  private final MemoryRegion inbox;
  private final MemoryRegion outbox;
  private final SendList list = new SendList(1, 1);
  private final Completions sent = new Completions(1);
  private final Completions received = new Completions(1);

  /** Gives the identifier its queue pair. */
  NumberedDatagrams(ConnectionId id) {
    this.id = id;
    number = id.queues().createQueuePair(QueuePairCapacity.of(2 * COUNT)).number();
    transfers = id.queues().transfers();
    inbox = transfers.registerMessages(arena.allocate(HEADER + SIZE));
    outbox = transfers.registerMessages(arena.allocate(SIZE));
    for (int i = 0; i < 2 * COUNT; i++) {
      assertTrue(transfers.receive(0, inbox, 0, HEADER + SIZE));
    }
  }

  void send(AddressHandle to, int queuePair, int key) throws InterruptedException {
    list.sendWithImmediate(0, number).local(outbox, 0, SIZE).to(to, queuePair, key).signaled();
    assertEquals(1, transfers.post(list));
    assertEquals(1, transfers.awaitSends(sent, PeerProgram.SOON));
    assertTrue(sent.isSuccess(0), () -> sent.describe(0));
  }

  /** True if a datagram came in time. */
  boolean receive(Duration timeout) throws InterruptedException {
    if (transfers.awaitReceives(received, timeout) == 0) {
      return false;
    }
    assertTrue(received.isSuccess(0), () -> received.describe(0));
    assertEquals(HEADER + SIZE, received.byteLength(0));
    assertEquals(received.sourceQueuePair(0), received.immediate(0));
    assertTrue(transfers.receive(0, inbox, 0, HEADER + SIZE));
    return true;
  }

  /** Who sent the datagram that was received last. */
  int sender() {
    return received.immediate(0);
  }

  /** The way back to the sender of the datagram that was received last. */
  AddressHandle wayBack() {
    return id.domain()
        .createAddressHandle(id.context().port(id.portNumber()), received, 0, inbox.memory());
  }

  @Override
  public void close() {
    id.close();
    inbox.close();
    outbox.close();
    arena.close();
  }
}
