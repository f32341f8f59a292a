package dev.verbena.benchmarks;

import dev.verbena.address.Gid;
import dev.verbena.address.GidEntry;
import io.aeron.Aeron;
import io.aeron.ExclusivePublication;
import io.aeron.Subscription;
import io.aeron.driver.MediaDriver;
import io.aeron.driver.ThreadingMode;
import io.aeron.logbuffer.FragmentHandler;
import io.aeron.protocol.DataHeaderFlyweight;
import java.util.concurrent.TimeUnit;
import org.agrona.concurrent.AgentInvoker;
import org.agrona.concurrent.UnsafeBuffer;
import org.openjdk.jmh.annotations.Benchmark;
import org.openjdk.jmh.annotations.BenchmarkMode;
import org.openjdk.jmh.annotations.Fork;
import org.openjdk.jmh.annotations.Measurement;
import org.openjdk.jmh.annotations.Mode;
import org.openjdk.jmh.annotations.OperationsPerInvocation;
import org.openjdk.jmh.annotations.OutputTimeUnit;
import org.openjdk.jmh.annotations.Param;
import org.openjdk.jmh.annotations.Scope;
import org.openjdk.jmh.annotations.Setup;
import org.openjdk.jmh.annotations.State;
import org.openjdk.jmh.annotations.TearDown;
import org.openjdk.jmh.annotations.Warmup;

/**
 * Messages by Aeron's Java media driver with {@code bridges/aeron}, beside those without it, which
 * go by the kernel's UDP. The driver, who sends and who receives are on one thread.
 */
@Fork(
    value = 1,
    jvmArgsAppend = {"--add-exports=java.base/jdk.internal.misc=ALL-UNNAMED", "-XX:+UseSerialGC"})
@Warmup(iterations = 5, time = 1)
@Measurement(iterations = 5, time = 1)
@BenchmarkMode(Mode.SampleTime)
@OutputTimeUnit(TimeUnit.MICROSECONDS)
public class AeronDriver {
  private static final int MESSAGES = 1000;

  /** The parameters. */
  @State(Scope.Benchmark)
  public static class Choice {
    /**
     * soft, a software device in the JVM; udp:ADDRESS, one over UDP; or as {@link Devices} has it,
     * with an IPv4 address that is one of this host.
     */
    @Param("soft")
    public String device;

    /** rdma, or udp: without the bridge, to the address of the device. */
    @Param({"rdma", "udp"})
    public String transport;

    /** plain, or direct: on the direct data path. */
    @Param("plain")
    public String queue;

    /** The length of Aeron's frames. */
    @Param("1024")
    public int mtu;

    /** The length of messages in bytes, or max: the longest that are not fragmented. */
    @Param({"64", "max"})
    public String length;

    private boolean isRdma() {
      return transport.equals("rdma");
    }

    /** Sets the properties of the JVM, and returns the address of the device. */
    private String address() {
      if (queue.equals("direct")) {
        System.setProperty("dev.verbena.direct", "auto");
      }
      if (isRdma()) {
        String supplier = "dev.verbena.aeron.Rdma%sChannelEndpointSupplier";
        System.setProperty("aeron.SendChannelEndpoint.supplier", supplier.formatted("Send"));
        System.setProperty("aeron.ReceiveChannelEndpoint.supplier", supplier.formatted("Receive"));
      }
      boolean isSoft = device.equals("soft");
      if (isSoft || device.startsWith("udp:")) {
        System.setProperty("dev.verbena.soft", isSoft ? "soft0=127.0.0.1" : device);
        return isSoft ? "127.0.0.1" : device.substring("udp:".length());
      }
      try (Devices devices = new Devices(device)) {
        return devices.context.ports().getFirst().gidTable().stream()
            .map(GidEntry::gid)
            .filter(Gid::isIpv4Mapped)
            .findFirst()
            .orElseThrow(() -> new IllegalStateException(device + " has no IPv4 address"))
            .toInetAddress()
            .getHostAddress();
      }
    }
  }

  /** A driver and a client with a stream of messages. */
  @State(Scope.Thread)
  public static class OneWay {
    private static final long LIMIT_NS = 60_000_000_000L;

    private String address;
    private boolean isRdma;
    private MediaDriver driver;
    private Aeron client;
    private AgentInvoker driverAgent;
    private AgentInvoker clientAgent;
    private long calls;
    private long byUdp;

    UnsafeBuffer message;
    ExclusivePublication there;
    Subscription subscription;
    int messagesOfFrame;
    long expected;
    long received;
    final FragmentHandler count = (_, _, _, _) -> received++;

    /** Starts the driver and connects what is measured. */
    @Setup
    public final void start(Choice choice) {
      address = choice.address();
      isRdma = choice.isRdma();
      driver =
          MediaDriver.launchEmbedded(
              new MediaDriver.Context()
                  .threadingMode(ThreadingMode.INVOKER)
                  .mtuLength(choice.mtu)
                  .termBufferSparseFile(false)
                  .dirDeleteOnShutdown(true));
      driverAgent = driver.sharedAgentInvoker();
      client =
          Aeron.connect(
              new Aeron.Context()
                  .aeronDirectoryName(driver.aeronDirectoryName())
                  .useConductorAgentInvoker(true)
                  .driverAgentInvoker(driverAgent));
      clientAgent = client.conductorAgentInvoker();
      connect();
      boolean isLongest = choice.length.equals("max");
      int length = isLongest ? there.maxPayloadLength() : Integer.parseInt(choice.length);
      message = new UnsafeBuffer(new byte[length]);
      messagesOfFrame = Math.max(1, choice.mtu / (length + DataHeaderFlyweight.HEADER_LENGTH));
    }

    void connect() {
      subscription = subscribe(1);
      there = publish(1);
    }

    final Subscription subscribe(int stream) {
      return client.addSubscription(channel(stream), stream);
    }

    private String channel(int stream) {
      return "aeron:udp?endpoint=%s:%d".formatted(address, 20_120 + stream);
    }

    /** Returns a publication to a subscription, by RDMA in both directions if it is chosen. */
    final ExclusivePublication publish(int stream) {
      ExclusivePublication publication = client.addExclusivePublication(channel(stream), stream);
      long start = System.nanoTime();
      while (!publication.isConnected() || (isRdma && counter("paths by RDMA") < 2L * stream)) {
        work();
        if (System.nanoTime() - start > LIMIT_NS) {
          throw new IllegalStateException(channel(stream) + " is not connected");
        }
      }
      byUdp = counter("messages sent by UDP");
      return publication;
    }

    /** Lets the driver work, and the device if it has no thread. */
    final void work() {
      int _ = driverAgent.invoke();
      Devices.advance();
      calls++;
      if (calls % 64 == 0) {
        int _ = clientAgent.invoke();
      }
    }

    private long counter(String name) {
      long[] sum = new long[1];
      client
          .countersReader()
          .forEach((value, _, label) -> sum[0] += label.endsWith(": " + name) ? value : 0);
      return sum[0];
    }

    /** Stops all; fails if a frame was sent by UDP that was to go by RDMA. */
    @TearDown
    public final void stop() {
      long more = counter("messages sent by UDP") - byUdp;
      client.close();
      driver.close();
      if (more != 0) {
        throw new IllegalStateException(more + " frames were sent by UDP");
      }
    }
  }

  /** And a stream back. */
  public static class BothWays extends OneWay {
    ExclusivePublication back;
    Subscription returned;
    final FragmentHandler send =
        (buffer, offset, length, _) -> {
          while (back.offer(buffer, offset, length) < 0) {
            work();
          }
        };

    @Override
    void connect() {
      super.connect();
      returned = subscribe(2);
      back = publish(2);
    }
  }

  /** A message there and back. */
  @Benchmark
  public void roundTrip(BothWays state) {
    state.expected++;
    while (state.there.offer(state.message) < 0) {
      state.work();
    }
    while (state.received < state.expected) {
      state.work();
      int _ = state.subscription.poll(state.send, 1);
      int _ = state.returned.poll(state.count, 1);
    }
  }

  /** Messages one way, as many as a frame holds before each call of the driver. */
  @Benchmark
  @BenchmarkMode(Mode.Throughput)
  @OutputTimeUnit(TimeUnit.SECONDS)
  @OperationsPerInvocation(MESSAGES)
  public void oneWay(OneWay state) {
    state.expected += MESSAGES;
    while (state.received < state.expected) {
      for (int i = 0; i < state.messagesOfFrame; i++) {
        if (state.there.offer(state.message) < 0) {
          break;
        }
      }
      state.work();
      int _ = state.subscription.poll(state.count, 2 * state.messagesOfFrame);
    }
  }
}
