package dev.verbena.verbs;

import static dev.verbena.testing.DeviceKind.SOFTWARE;
import static dev.verbena.testing.DeviceKind.SOFT_ROCE;
import static org.junit.jupiter.api.Assertions.assertEquals;

import dev.verbena.address.AddressVector;
import dev.verbena.address.Gid;
import dev.verbena.address.GlobalRoute;
import dev.verbena.testing.Await;
import dev.verbena.testing.DeviceTest;
import dev.verbena.testing.On;
import dev.verbena.testing.Rig;
import dev.verbena.values.QueuePairType;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.MulticastSocket;
import java.time.Duration;

/** Multicast by verbs alone: the host joins, the queue pair is attached. */
@On(
    value = {SOFTWARE, SOFT_ROCE},
    reason = "the emulated NIC has no network interface")
class McastTest {
  private static final String GROUP = "239.7.7.7";

  @DeviceTest
  void attachedTwiceOneCopyArrives() throws Exception {
    InetSocketAddress address = new InetSocketAddress(InetAddress.getByName(GROUP), 0);
    Gid group = Gid.parse("::ffff:" + GROUP);
    try (Pair pair = Pair.inUse(QueuePairType.UD, builder -> builder);
        MulticastSocket host = new MulticastSocket()) {
      if (!Rig.isSoftware()) { // What RDMA CM would do for the host of b.
        host.joinGroup(address, Rig.b().networkInterfaces().getFirst());
      }
      pair.b.queuePair.attachMulticast(group, 0);
      pair.b.queuePair.attachMulticast(group, 0);
      SendList list = toGroup(pair, group);
      Completions received = new Completions(4);
      for (int i = 0; i < 4; i++) {
        pair.b.receive(i);
      }
      pair.a.run(list);
      assertEquals(1, countOf(pair, received), "attached twice");
      pair.b.queuePair.detachMulticast(group, 0);
      pair.a.run(list);
      assertEquals(0, countOf(pair, received), "detached");
    }
  }

  private static SendList toGroup(Pair pair, Gid group) {
    int index = pair.a.context.port(1).chooseGid().index();
    AddressHandle handle =
        pair.a.domain.createAddressHandle(AddressVector.global(1, new GlobalRoute(group, index)));
    SendList list = new SendList(1, 1);
    int key = pair.b.queuePair.localAddress().queueKey();
    list.send(0).local(pair.a.memory, 0, 64).to(handle, 0xffffff, key).signaled();
    return list;
  }

  /** How many messages arrive within half a second. */
  private static int countOf(Pair pair, Completions received) throws InterruptedException {
    int count = 0;
    long end = System.nanoTime() + Duration.ofMillis(500).toNanos();
    while (System.nanoTime() < end) {
      count += pair.b.completionQueue.poll(received);
      Await.pass(Duration.ofMillis(10), "what arrives in half a second is counted");
    }
    return count;
  }
}
