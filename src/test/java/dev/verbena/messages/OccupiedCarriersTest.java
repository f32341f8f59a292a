package dev.verbena.messages;

import static org.junit.jupiter.api.Assertions.assertEquals;

import dev.verbena.cm.Listener;
import dev.verbena.soft.SoftInternals;
import dev.verbena.soft.SoftNetwork;
import dev.verbena.testing.Await;
import dev.verbena.verbs.Context;
import dev.verbena.verbs.DeviceMemory;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.FutureTask;
import org.junit.jupiter.api.Test;

/** Virtual threads that occupy all carriers do not stop the library. */
class OccupiedCarriersTest {
  private static final int CARRIERS =
      Integer.getInteger(
          "jdk.virtualThreadScheduler.parallelism", Runtime.getRuntime().availableProcessors());

  private volatile boolean ended;

  private void occupyCarriers() throws InterruptedException {
    CountDownLatch spinning = new CountDownLatch(CARRIERS);
    for (int i = 0; i < CARRIERS; i++) {
      Thread.ofVirtual()
          .start(
              () -> {
                spinning.countDown();
                while (!ended) {
                  Thread.onSpinWait(); // Does not leave the carrier.
                }
              });
    }
    spinning.await();
  }

  @Test
  void eventsOfConnectionsAreDelivered() throws Exception {
    InetAddress address = InetAddress.getByName("10.77.0.2");
    try (SoftNetwork network = SoftNetwork.create()) {
      var _ = network.addDevice("soft0", InetAddress.getByName("10.77.0.1"));
      var _ = network.addDevice("soft1", address);
      try (Listener listener =
          network.call(() -> Listener.open(new InetSocketAddress(address, 0)))) {
        FutureTask<byte[]> received =
            new FutureTask<>(
                () -> {
                  try (Connection connection =
                      Connection.accept(listener.take(), ConnectionSettings.DEFAULT)) {
                    return connection.receive();
                  }
                });
        Thread.ofPlatform().start(received);
        occupyCarriers();
        try (Connection client =
            network.call(() -> Connection.connect(listener.address().orElseThrow()))) {
          client.send(new byte[] {1, 2, 3});
          assertEquals(3, received.get().length);
        }
      } finally {
        ended = true;
      }
    }
  }

  /** Those that C called back keep their carriers while they wait for the network. */
  @Test
  void virtualThreadsShareADeviceWhoseNetworkIsBusy() throws Exception {
    try (SoftNetwork network = SoftNetwork.create();
        Context context = network.addDevice("soft0", InetAddress.getByName("10.77.0.1")).open()) {
      SoftInternals busy = new SoftInternals(network);
      busy.hold();
      List<Thread> waiting = new ArrayList<>();
      waiting.add(Thread.ofVirtual().start(context::allocateProtectionDomain));
      Await.waits(waiting.getFirst());
      for (int i = 0; i < CARRIERS; i++) {
        waiting.add(Thread.ofVirtual().start(() -> DeviceMemory.allocate(context, 8)));
        Await.waits(waiting.getLast());
      }
      busy.release();
      Await.until("the end of all", () -> waiting.stream().noneMatch(Thread::isAlive));
    }
  }
}
