package dev.verbena.sockets;

import java.io.PrintWriter;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.nio.channels.NetworkChannel;
import java.nio.channels.spi.SelectorProvider;
import java.nio.charset.StandardCharsets;
import java.util.stream.Stream;
import org.junit.platform.engine.discovery.DiscoverySelectors;
import org.junit.platform.launcher.core.LauncherDiscoveryRequestBuilder;
import org.junit.platform.launcher.core.LauncherFactory;
import org.junit.platform.launcher.listeners.SummaryGeneratingListener;

/**
 * {@link ChannelBehaviour} with the default provider of the JVM that {@link HybridProviderTest}
 * starts, by RDMA and by TCP.
 */
final class HybridBehaviour {
  private HybridBehaviour() {}

  public static void main(String[] args) {
    run(ByRdma.class, ByTcp.class, RemovedListener.class);
  }

  /** {@link ConnectRaces}, with the head start that is the default. */
  static final class Races {
    private Races() {}

    public static void main(String[] args) {
      run(ConnectRaces.class);
    }
  }

  private static void run(Class<?>... tests) {
    SummaryGeneratingListener listener = new SummaryGeneratingListener();
    LauncherFactory.create()
        .execute(
            LauncherDiscoveryRequestBuilder.request()
                .selectors(Stream.of(tests).map(DiscoverySelectors::selectClass).toList())
                .build(),
            listener);
    listener
        .getSummary()
        .printFailuresTo(new PrintWriter(System.out, true, StandardCharsets.UTF_8), 20);
    System.out.println(listener.getSummary().getTestsSucceededCount() + " tests");
    boolean isGood =
        listener.getSummary().getTotalFailureCount() == 0
            && listener.getSummary().getTestsSucceededCount() > 0;
    System.exit(isGood ? 0 : 1);
  }

  /** Between software devices. */
  static final class ByRdma extends ChannelBehaviour {
    @Override
    SelectorProvider provider() {
      return SelectorProvider.provider();
    }

    @Override
    InetSocketAddress listening() {
      return new InetSocketAddress("127.0.0.3", 0);
    }

    @Override
    InetSocketAddress connecting() {
      return new InetSocketAddress("127.0.0.2", 0);
    }
  }

  /** Between addresses without a device. */
  static final class ByTcp extends ChannelBehaviour {
    @Override
    SelectorProvider provider() {
      return SelectorProvider.provider();
    }

    @Override
    InetSocketAddress listening() {
      return new InetSocketAddress(InetAddress.getLoopbackAddress(), 0);
    }

    @Override
    boolean isTcp() {
      return true;
    }

    @Override
    void buffer(NetworkChannel channel, int bytes) {
      // By itself.
    }

    @Override
    InetSocketAddress connecting() {
      return new InetSocketAddress(InetAddress.getLoopbackAddress(), 0);
    }
  }
}
