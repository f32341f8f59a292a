package dev.verbena.soft;

import dev.verbena.internal.Provider;
import dev.verbena.raw.rdma_h;
import dev.verbena.soft.device.AsyncEventQueue;
import dev.verbena.soft.device.MemoryKey;
import dev.verbena.soft.device.Registry;
import dev.verbena.soft.device.SoftCompletionQueue;
import dev.verbena.soft.device.SoftContext;
import dev.verbena.soft.device.SoftDomain;
import dev.verbena.soft.device.SoftObject;
import dev.verbena.soft.device.SoftRegion;
import dev.verbena.soft.device.SoftWindow;
import dev.verbena.soft.transport.SoftQueuePair;
import dev.verbena.testing.Await;
import dev.verbena.verbs.QueuePair;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.concurrent.CountDownLatch;
import java.util.function.Supplier;

/** What tests see and do behind the C functions of the devices of a network. */
public final class SoftInternals {
  private static final Map<Class<?>, String> NAMES =
      Map.of(
          SoftContext.class, "context",
          SoftDomain.class, "protection domain",
          SoftRegion.class, "memory region",
          SoftCompletionQueue.class, "completion queue",
          SoftQueuePair.class, "queue pair");

  private final SoftNetwork network;
  private CountDownLatch release;
  private Thread holder;

  /** Looks into a network. */
  public SoftInternals(SoftNetwork network) {
    this.network = network;
  }

  /** What stands below the verbs. */
  public Provider provider() {
    return network.provider();
  }

  private <T> T locked(Supplier<T> call) {
    return network.engine.locked(call);
  }

  /** Returns what a queue pair is in its device. */
  static SoftQueuePair of(QueuePair queuePair) {
    return SoftQueuePair.at(queuePair.segment().address());
  }

  private List<SoftQueuePair> queuePairs() {
    return Registry.of(network.fabric).stream()
        .filter(SoftQueuePair.class::isInstance)
        .map(SoftQueuePair.class::cast)
        .toList();
  }

  /** How many receives wait in the own queues of all queue pairs. */
  public int waitingReceives() {
    return locked(
        () ->
            queuePairs().stream()
                .filter(queuePair -> queuePair.receives != null)
                .mapToInt(queuePair -> queuePair.receives.size())
                .sum());
  }

  /** How many raw packet queue pairs have receives, and are in a state to use them. */
  public int listeners() {
    return locked(
        () ->
            (int)
                queuePairs().stream()
                    .filter(queuePair -> queuePair.type == rdma_h.IBV_QPT_RAW_PACKET())
                    .filter(queuePair -> queuePair.canReceive() && !queuePair.receives.isEmpty())
                    .count());
  }

  /** The objects that were not closed, as in {@code 1 protection domain}. */
  public List<String> leftOpen() {
    Map<String, Integer> counts = new TreeMap<>();
    locked(() -> Registry.of(network.fabric))
        .forEach(
            object ->
                counts.merge(
                    NAMES.getOrDefault(object.getClass(), object.getClass().getSimpleName()),
                    1,
                    Integer::sum));
    return counts.entrySet().stream().map(e -> e.getValue() + " " + e.getKey()).toList();
  }

  /** Waits until everything that was posted is carried out, as far as it can be now. */
  public void settle() {
    Await.until("an idle network", network.engine::isIdle);
  }

  /** Whether the object whose struct is at an address exists. */
  public boolean exists(long address) {
    return Registry.deviceOf(address) != null;
  }

  /** Raises an asynchronous event of an object or a port. */
  public void event(long context, int type, long element) {
    AsyncEventQueue events = Registry.at(context, SoftContext.class).events;
    SoftObject object = Registry.find(element);
    if (object == null) {
      events.add(type, (int) element);
    } else {
      events.add(type, object);
    }
  }

  /** Stops the network: what is posted stays in its queue. Control verbs wait as well. */
  public void hold() {
    CountDownLatch held = new CountDownLatch(1);
    release = new CountDownLatch(1);
    CountDownLatch end = release;
    holder =
        Thread.ofPlatform()
            .start(
                () ->
                    network.engine.locked(
                        () -> {
                          held.countDown();
                          await(end);
                        }));
    await(held);
  }

  /** Lets the network go on. */
  public void release() {
    release.countDown();
    try {
      holder.join();
    } catch (InterruptedException e) {
      throw new IllegalStateException(e);
    }
  }

  private static void await(CountDownLatch latch) {
    try {
      latch.await();
    } catch (InterruptedException e) {
      throw new IllegalStateException(e);
    }
  }

  /** Binds a window to a region as a completed request does; unbinds it if the region is 0. */
  public void bind(long window, long region, long queuePair) {
    network.engine.locked(
        () -> {
          SoftWindow bound = Registry.at(window, SoftWindow.class);
          if (region == 0) {
            bound.unbind();
            return;
          }
          SoftRegion to = Registry.at(region, SoftRegion.class);
          SoftQueuePair owner = queuePair == 0 ? null : SoftQueuePair.at(queuePair);
          bound.bind(
              to,
              new MemoryKey(
                  MemoryKey.Use.REMOTE,
                  bound.key(),
                  to.domain(),
                  0,
                  1,
                  to.local.memory,
                  0,
                  owner,
                  bound,
                  false));
        });
  }
}
