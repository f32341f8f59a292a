package dev.verbena.benchmarks;

import com.sun.management.ThreadMXBean;
import dev.verbena.soft.SoftNetwork;
import dev.verbena.verbs.Device;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.management.ManagementFactory;
import java.lang.reflect.Method;
import java.net.InetAddress;
import java.net.URI;
import java.util.Arrays;
import java.util.Locale;
import java.util.Map;
import java.util.Random;
import java.util.concurrent.TimeUnit;
import org.openjdk.jmh.annotations.Benchmark;
import org.openjdk.jmh.annotations.BenchmarkMode;
import org.openjdk.jmh.annotations.Fork;
import org.openjdk.jmh.annotations.Level;
import org.openjdk.jmh.annotations.Measurement;
import org.openjdk.jmh.annotations.Mode;
import org.openjdk.jmh.annotations.OutputTimeUnit;
import org.openjdk.jmh.annotations.Param;
import org.openjdk.jmh.annotations.Scope;
import org.openjdk.jmh.annotations.Setup;
import org.openjdk.jmh.annotations.State;
import org.openjdk.jmh.annotations.TearDown;
import org.openjdk.jmh.annotations.Warmup;
import org.openjdk.jmh.infra.BenchmarkParams;
import org.openjdk.jmh.infra.IterationParams;
import org.openjdk.jmh.runner.IterationType;
import software.amazon.awssdk.auth.credentials.AwsBasicCredentials;
import software.amazon.awssdk.auth.credentials.StaticCredentialsProvider;
import software.amazon.awssdk.core.sync.RequestBody;
import software.amazon.awssdk.core.sync.ResponseTransformer;
import software.amazon.awssdk.regions.Region;
import software.amazon.awssdk.services.s3.S3Client;
import software.amazon.awssdk.services.s3.model.GetObjectRequest;
import software.amazon.awssdk.services.s3.model.GetObjectResponse;
import software.amazon.awssdk.services.s3.model.PutObjectRequest;

/**
 * Objects of 16 MiB by the synchronous client of the AWS SDK with {@code bridges/s3}, beside those
 * by HTTP. Prints what the thread of the client uses: its processor time and what it allocates. The
 * test server of the bridge and the software devices work in other threads of the JVM, so the times
 * of JMH include them, and nothing here has the part of a NIC.
 */
@Fork(
    value = 1,
    jvmArgsAppend = {"-XX:+UseSerialGC", "-Xmx2g"})
@Warmup(iterations = 2, time = 2)
@Measurement(iterations = 5, time = 2)
@BenchmarkMode(Mode.SampleTime)
@OutputTimeUnit(TimeUnit.MILLISECONDS)
public class S3Objects {
  private static final int SIZE = 16 << 20;

  /** The least that goes by RDMA. */
  private static final int LITTLE = 256 << 10;

  private static final String BUCKET = "bucket";
  private static final String BRIDGE = "dev.verbena.s3.";
  private static final PutObjectRequest PUT =
      PutObjectRequest.builder().bucket(BUCKET).key("stored").build();

  /** The checksum of an object is not that of a range. */
  private static final GetObjectRequest GET =
      GetObjectRequest.builder().bucket(BUCKET).key("read").range("bytes=0-" + (SIZE - 1)).build();

  /** The parameters. */
  @State(Scope.Benchmark)
  public static class Choice {
    /** rdma, or http. */
    @Param({"rdma", "http"})
    public String transport;

    /**
     * Calls with little data before, as the code of the SDK is large, and those with 16 MiB few.
     */
    @Param("1500")
    public int warm;
  }

  /** A server and a client, in one JVM. */
  @State(Scope.Thread)
  public static class Ends {
    private static final ThreadMXBean THREADS = (ThreadMXBean) ManagementFactory.getThreadMXBean();

    private SoftNetwork network;
    private AutoCloseable server;
    private AutoCloseable buffer;
    private boolean isRdma;
    private long calls;
    private long measured;
    private long nanos;
    private long bytes;
    final byte[] array = new byte[SIZE];
    RequestBody arrayBody;
    S3Client client;
    PutObjectRequest putBuffer = PUT;
    RequestBody bufferBody;
    ResponseTransformer<GetObjectResponse, ? extends AutoCloseable> toSegment;

    /** Starts the server, and makes the client. */
    @Setup
    public void start(Choice choice) throws Exception {
      isRdma = choice.transport.equals("rdma");
      new Random(1).nextBytes(array);
      arrayBody = RequestBody.fromBytes(array);
      network = SoftNetwork.create().profile("connectx5");
      Device _ = network.addDevice("client", InetAddress.ofLiteral("127.0.0.1"));
      Device device = network.addDevice("server", InetAddress.ofLiteral("127.0.0.2"));
      Object profile = type("server.Profile").getField("SPEC").get(null);
      InetAddress address = InetAddress.ofLiteral("127.0.0.1");
      server = (AutoCloseable) call("server.S3Server", "start", address, device, profile);
      network.call(() -> connect((URI) on(server, "uri")));
      RequestBody little = RequestBody.fromBytes(Arrays.copyOf(array, LITTLE));
      for (int i = 0; i < choice.warm; i++) {
        call().putObject(PUT, little);
        call()
            .getObject(
                b -> b.bucket(BUCKET).key("read").range("bytes=0-" + (LITTLE - 1)),
                (_, in) -> in.readNBytes(array, 0, LITTLE));
      }
    }

    /** The bridge takes the devices that it sees at the first call. */
    @SuppressWarnings("unchecked")
    private Object connect(URI uri) throws Exception {
      if (isRdma) {
        System.setProperty(BRIDGE + "endpoints", uri.getAuthority());
      }
      client =
          S3Client.builder()
              .endpointOverride(uri)
              .forcePathStyle(true)
              .region(Region.US_EAST_1)
              .credentialsProvider(
                  StaticCredentialsProvider.create(
                      AwsBasicCredentials.create(secret("ACCESS_KEY"), secret("SECRET_KEY"))))
              .build();
      RequestBody larger = RequestBody.fromBytes(Arrays.copyOf(array, SIZE + 1));
      calls++;
      toSegment =
          (ResponseTransformer<GetObjectResponse, ? extends AutoCloseable>)
              call("S3Rdma", "toSegment");
      MemorySegment memory = Arena.global().allocate(SIZE);
      if (isRdma) {
        Method allocate = type("S3Rdma").getMethod("allocate", long.class);
        buffer = (AutoCloseable) allocate.invoke(null, (long) SIZE);
        memory = (MemorySegment) on(buffer, "segment");
        putBuffer = (PutObjectRequest) on(buffer, "in", PUT);
        bufferBody = (RequestBody) on(buffer, "body");
      } else {
        bufferBody = RequestBody.fromByteBuffer(memory.asByteBuffer());
      }
      memory.copyFrom(MemorySegment.ofArray(array));
      return client.putObject(b -> b.bucket(BUCKET).key("read"), larger);
    }

    private static String secret(String name) throws ReflectiveOperationException {
      return (String) type("server.S3Server").getField(name).get(null);
    }

    // The bridge is compiled after the benchmarks.

    private static Class<?> type(String name) throws ClassNotFoundException {
      return Class.forName(BRIDGE + name);
    }

    private static Object call(String type, String method, Object... arguments)
        throws ReflectiveOperationException {
      return invoke(type(type), null, method, arguments);
    }

    private static Object on(Object object, String method, Object... arguments)
        throws ReflectiveOperationException {
      return invoke(object.getClass(), object, method, arguments);
    }

    private static Object invoke(Class<?> type, Object object, String name, Object... arguments)
        throws ReflectiveOperationException {
      for (Method method : type.getMethods()) {
        if (method.getName().equals(name)
            && method.getParameterCount() == arguments.length
            && (arguments.length != 1 || method.getParameterTypes()[0].isInstance(arguments[0]))) {
          return method.invoke(object, arguments);
        }
      }
      throw new NoSuchMethodException(type + "." + name);
    }

    /** Begins to count. */
    @Setup(Level.Iteration)
    public void begin(IterationParams iteration) {
      add(iteration, -1);
    }

    /** Ends to count. */
    @TearDown(Level.Iteration)
    public void end(IterationParams iteration) {
      add(iteration, 1);
    }

    private void add(IterationParams iteration, int sign) {
      if (iteration.getType() == IterationType.MEASUREMENT) {
        measured += sign * calls;
        nanos += sign * THREADS.getCurrentThreadCpuTime();
        bytes += sign * THREADS.getCurrentThreadAllocatedBytes();
      }
    }

    S3Client call() {
      calls++;
      return client;
    }

    /** Stops all, and prints the row; fails if a call went by HTTP that was to go by RDMA. */
    @TearDown
    public void stop(BenchmarkParams benchmark, Choice choice) throws Exception {
      long moved = 0;
      for (Object counters : ((Map<?, ?>) call("S3Rdma", "counters")).values()) {
        for (var counter : ((Map<?, ?>) counters).entrySet()) {
          boolean isMoved = counter.getKey().toString().matches("GET|PUT");
          moved += isMoved ? (Long) counter.getValue() : 0;
        }
      }
      client.close();
      if (buffer != null) {
        buffer.close();
      }
      server.close();
      network.close();
      if (moved != (isRdma ? calls : 0)) {
        throw new IllegalStateException(moved + " of " + calls + " calls went by RDMA");
      }
      String name = benchmark.getBenchmark();
      double gib = (double) measured * SIZE / (1 << 30);
      System.out.printf(
          Locale.ROOT,
          "%n| %s, %s | %.3f s of the processor/GiB | %.1f MiB allocated/GiB |%n",
          name.substring(name.lastIndexOf('.') + 1),
          choice.transport,
          nanos / 1e9 / gib,
          bytes / (double) (1 << 20) / gib);
    }
  }

  /** From an array; the copy that the SDK makes of it for the body is made before. */
  @Benchmark
  public Object putArray(Ends ends) {
    return ends.call().putObject(PUT, ends.arrayBody);
  }

  /** From an {@code S3Buffer}; by HTTP, from a direct buffer. */
  @Benchmark
  public Object putBuffer(Ends ends) {
    return ends.call().putObject(ends.putBuffer, ends.bufferBody);
  }

  /** Into an array. */
  @Benchmark
  public int getArray(Ends ends) {
    return ends.call().getObject(GET, (_, in) -> in.readNBytes(ends.array, 0, SIZE));
  }

  /** By {@code S3Rdma.toSegment}. */
  @Benchmark
  public void getSegment(Ends ends) throws Exception {
    ends.call().getObject(GET, ends.toSegment).close();
  }
}
