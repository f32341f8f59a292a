package dev.verbena.s3;

import dev.verbena.s3.server.Profile;
import dev.verbena.s3.server.S3Server;
import dev.verbena.soft.SoftNetwork;
import dev.verbena.verbs.Device;
import java.io.IOException;
import java.net.InetAddress;
import java.net.URI;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.TreeMap;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.function.Supplier;
import software.amazon.awssdk.auth.credentials.AwsBasicCredentials;
import software.amazon.awssdk.auth.credentials.AwsCredentialsProvider;
import software.amazon.awssdk.auth.credentials.StaticCredentialsProvider;
import software.amazon.awssdk.awscore.client.builder.AwsClientBuilder;
import software.amazon.awssdk.http.SdkHttpMethod;
import software.amazon.awssdk.http.SdkHttpRequest;
import software.amazon.awssdk.http.async.SdkAsyncHttpClient;
import software.amazon.awssdk.http.nio.netty.NettyNioAsyncHttpClient;
import software.amazon.awssdk.regions.Region;
import software.amazon.awssdk.services.s3.S3AsyncClient;
import software.amazon.awssdk.services.s3.S3BaseClientBuilder;
import software.amazon.awssdk.services.s3.S3Client;
import software.amazon.awssdk.utils.SdkAutoCloseable;

/** A server and a host with RDMA devices, and clients whose settings are system properties. */
final class Rig implements AutoCloseable {
  /** Closing one takes two seconds. */
  static final SdkAsyncHttpClient NETTY = NettyNioAsyncHttpClient.create();

  private static final AtomicInteger RIGS = new AtomicInteger();

  static final String BUCKET = S3Server.BUCKET;

  final SoftNetwork network = SoftNetwork.create();
  final Device device;
  final S3Server server;
  final Map<String, String> settings = new TreeMap<>();

  /** The counters of another server, which had the port. */
  private final Map<S3Counter, Long> before;

  private final List<SdkAutoCloseable> clients = new ArrayList<>();

  Rig(Profile profile) throws IOException {
    this(profile, true);
  }

  /** Without DC, tokens name connections. */
  Rig(Profile profile, boolean hasDc) throws IOException {
    if (hasDc) {
      network.profile("connectx5");
    }
    device = network.addDevice("client", InetAddress.ofLiteral("127.0.0.1"));
    Device other =
        network.profile("connectx5").addDevice("server", InetAddress.ofLiteral("127.0.0.2"));
    server = S3Server.start(InetAddress.ofLiteral("127.0.0.1"), other, profile);
    Devices.use(() -> List.of(device));
    before = S3Rdma.counters().getOrDefault(endpoint(), Map.of());
    settings.put("endpoints", endpoint());
    // Endpoints are found by their settings, and a port is used again.
    settings.put("timeout", "300.%03ds".formatted(RIGS.getAndIncrement() % 1000));
    settings.put("connected", Boolean.toString(!hasDc));
  }

  String endpoint() {
    return server.uri().getAuthority();
  }

  /** Returns the settings of this test, with others as names and values. */
  Settings settings() {
    return Settings.of(settings::get);
  }

  Endpoint used() {
    return at(server.uri());
  }

  /** Returns the endpoint that the settings of this test have at an address. */
  Endpoint at(URI uri) {
    return Endpoints.of(settings())
        .of(SdkHttpRequest.builder().method(SdkHttpMethod.GET).uri(uri).build())
        .orElseThrow();
  }

  long counter(S3Counter counter) {
    return S3Rdma.counters().getOrDefault(endpoint(), Map.of()).getOrDefault(counter, 0L)
        - before.getOrDefault(counter, 0L);
  }

  /** Returns a client that knows nothing of RDMA: the SDK finds the bridge on the class path. */
  S3Client client() {
    return client(S3Client.builder());
  }

  S3AsyncClient asyncClient() {
    return client(S3AsyncClient.builder().httpClient(NETTY));
  }

  <B extends S3BaseClientBuilder<B, C> & AwsClientBuilder<B, C>, C extends SdkAutoCloseable>
      C client(B builder) {
    return client(builder, credentials());
  }

  <B extends S3BaseClientBuilder<B, C> & AwsClientBuilder<B, C>, C extends SdkAutoCloseable>
      C client(B builder, AwsCredentialsProvider credentials) {
    C client =
        withProperties(
            () ->
                builder
                    .endpointOverride(server.uri())
                    .forcePathStyle(true)
                    .region(Region.US_EAST_1)
                    .credentialsProvider(credentials)
                    .build());
    clients.add(client);
    return client;
  }

  static StaticCredentialsProvider credentials() {
    return StaticCredentialsProvider.create(
        AwsBasicCredentials.create(S3Server.ACCESS_KEY, S3Server.SECRET_KEY));
  }

  /** The settings are read when a client is built. */
  <T> T withProperties(Supplier<T> action) {
    settings.forEach((name, value) -> System.setProperty(Settings.PREFIX + name, value));
    try {
      return action.get();
    } finally {
      settings.keySet().forEach(name -> System.clearProperty(Settings.PREFIX + name));
    }
  }

  byte[] stored(String key) {
    return server.objects().get("/" + BUCKET + "/" + key).data();
  }

  static byte[] random(int size) {
    byte[] data = new byte[size];
    new Random(size).nextBytes(data);
    return data;
  }

  URI uriOf(String host) {
    return URI.create("http://" + host + ":" + uri().getPort());
  }

  URI uri() {
    return server.uri();
  }

  @Override
  public void close() {
    server.faults().clear();
    clients.forEach(SdkAutoCloseable::close);
    server.close();
    Devices.use(Device::list);
    network.close();
  }
}
