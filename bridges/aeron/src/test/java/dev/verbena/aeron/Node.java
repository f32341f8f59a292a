package dev.verbena.aeron;

import io.aeron.Aeron;
import io.aeron.ExclusivePublication;
import io.aeron.Publication;
import io.aeron.Subscription;
import io.aeron.driver.MediaDriver;
import io.aeron.driver.NameResolverAgent;
import io.aeron.driver.ThreadingMode;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.atomic.AtomicInteger;
import org.agrona.concurrent.status.CountersReader;

/** A media driver and a client, which run when they are called. */
final class Node implements AutoCloseable {
  static final int MTU = 1408;

  private static final long SECOND = 1_000_000_000L;

  /** No limit of Aeron ends what a slow machine delays. */
  private static final long STALL = 600 * SECOND;

  private static final AtomicInteger NEXT = new AtomicInteger();

  final MediaDriver driver;
  final Aeron aeron;

  /** What the driver reported. */
  final List<Throwable> errors = new ArrayList<>();

  Node(boolean hasBridge, int mtu, NameResolverAgent names) {
    String folder =
        System.getProperty("java.io.tmpdir")
            + "/verbena-aeron-"
            + ProcessHandle.current().pid()
            + "-"
            + NEXT.incrementAndGet();
    MediaDriver.Context context =
        new MediaDriver.Context()
            .aeronDirectoryName(folder)
            .dirDeleteOnStart(true)
            .dirDeleteOnShutdown(true)
            .threadingMode(ThreadingMode.INVOKER)
            .mtuLength(mtu)
            .publicationTermBufferLength(1 << 20)
            .publicationLingerTimeoutNs(SECOND / 10)
            .timerIntervalNs(SECOND / 100)
            .imageLivenessTimeoutNs(STALL)
            .clientLivenessTimeoutNs(STALL)
            .publicationUnblockTimeoutNs(2 * STALL)
            .nameResolver(names)
            .errorHandler(errors::add);
    if (hasBridge) {
      context
          .sendChannelEndpointSupplier(new RdmaSendChannelEndpointSupplier())
          .receiveChannelEndpointSupplier(new RdmaReceiveChannelEndpointSupplier());
    }
    driver = MediaDriver.launch(context);
    aeron =
        Aeron.connect(
            new Aeron.Context()
                .aeronDirectoryName(folder)
                .driverTimeoutMs(STALL / 1_000_000)
                .useConductorAgentInvoker(true)
                .errorHandler(errors::add)
                .driverAgentInvoker(driver.sharedAgentInvoker()));
  }

  void run() {
    int _ = driver.sharedAgentInvoker().invoke();
    int _ = aeron.conductorAgentInvoker().invoke();
  }

  ExclusivePublication publish(String channel) {
    return aeron.addExclusivePublication(channel, 7);
  }

  Publication publishShared(String channel) {
    return aeron.addPublication(channel, 7);
  }

  Subscription subscribe(String channel) {
    return aeron.addSubscription(channel, 7);
  }

  /** Returns the sum of the counters of the sender and the receiver whose label ends so. */
  long count(String end) {
    return count("RDMA sender: ", end) + count("RDMA receiver: ", end);
  }

  /** Returns a counter, 0 if there is none. */
  long count(String start, String end) {
    long[] sum = {0};
    CountersReader counters = aeron.countersReader();
    counters.forEach(
        (value, id, label) -> {
          if (label.startsWith(start) && label.endsWith(end)) {
            sum[0] += value;
          }
        });
    return sum[0];
  }

  @Override
  public void close() {
    aeron.close();
    driver.close();
  }
}
