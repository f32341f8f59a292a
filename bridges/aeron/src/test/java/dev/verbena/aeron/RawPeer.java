package dev.verbena.aeron;

import static org.junit.jupiter.api.Assertions.assertEquals;

import dev.verbena.address.Gid;
import dev.verbena.address.GidEntry;
import dev.verbena.values.QueuePairCapacity;
import dev.verbena.values.QueuePairType;
import dev.verbena.verbs.AddressHandle;
import dev.verbena.verbs.CompletionQueue;
import dev.verbena.verbs.Context;
import dev.verbena.verbs.Device;
import dev.verbena.verbs.MemoryRegion;
import dev.verbena.verbs.ProtectionDomain;
import dev.verbena.verbs.QueuePair;
import dev.verbena.verbs.SendList;
import java.nio.ByteBuffer;

/** A UD queue pair that sends what a test gives it, from an address of the family of the peer. */
final class RawPeer implements AutoCloseable {
  private final Context context;
  private final ProtectionDomain domain;
  private final QueuePair queuePair;
  private final MemoryRegion region;
  private final SendList sends = new SendList(1, 1);

  RawPeer(Device device) {
    context = device.open();
    domain = context.allocateProtectionDomain();
    CompletionQueue completions = context.completionQueue(64).create();
    queuePair =
        QueuePair.builder(domain, QueuePairType.UD)
            .sendCompletions(completions)
            .receiveCompletions(completions)
            .capacity(QueuePairCapacity.of(16))
            .create();
    region = domain.allocateMemory(4096);
    queuePair.setup().port(1).gid(0).queueKey(1).activate();
  }

  int number() {
    return queuePair.number();
  }

  void send(ByteBuffer data, Offer to) {
    int length = data.remaining();
    region.memory().asByteBuffer().put(0, data, data.position(), length);
    Gid gid = to.address().gid();
    int index =
        context.port(1).gidTable().stream()
            .filter(entry -> entry.gid().isIpv4Mapped() == gid.isIpv4Mapped())
            .mapToInt(GidEntry::index)
            .findFirst()
            .orElseThrow();
    try (AddressHandle handle =
        domain.createAddressHandle(queuePair.setup().port(1).gid(index).pathTo(to.address()))) {
      sends
          .sendWithImmediate(0, to.cookie())
          .local(region, 0, length)
          .to(handle, to.address().number(), to.address().queueKey());
      assertEquals(1, queuePair.post(sends));
    }
  }

  @Override
  public void close() {
    context.close();
  }
}
