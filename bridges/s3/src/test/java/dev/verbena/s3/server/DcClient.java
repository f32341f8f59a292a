package dev.verbena.s3.server;

import dev.verbena.address.Gid;
import dev.verbena.address.QueuePairAddress;
import dev.verbena.mlx5.Mlx5Device;
import dev.verbena.values.AccessFlag;
import dev.verbena.values.QueuePairType;
import dev.verbena.verbs.CompletionQueue;
import dev.verbena.verbs.Context;
import dev.verbena.verbs.Device;
import dev.verbena.verbs.MemoryRegion;
import dev.verbena.verbs.ProtectionDomain;
import dev.verbena.verbs.QueuePair;
import dev.verbena.verbs.SharedReceiveQueue;
import java.io.IOException;
import java.lang.foreign.ValueLayout;
import java.net.InetAddress;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.util.Arrays;
import java.util.HexFormat;
import java.util.List;
import java.util.Locale;
import java.util.Set;
import software.amazon.awssdk.http.SdkHttpMethod;
import software.amazon.awssdk.http.SdkHttpRequest;
import software.amazon.awssdk.http.auth.aws.signer.AwsV4HttpSigner;
import software.amazon.awssdk.http.auth.spi.signer.SignedRequest;
import software.amazon.awssdk.identity.spi.AwsCredentialsIdentity;

/** A client that makes each request by hand: a DC target, a region, a token, a signature. */
final class DcClient implements AutoCloseable {
  private static final long ACCESS_KEY = 0xffee_ddccL;
  private static final Set<String> SENT_BY_HTTP_CLIENT = Set.of("host", "content-length");

  final Context context;
  final ProtectionDomain domain;
  private final QueuePairAddress target;
  private final InetAddress source;
  private final URI endpoint;
  private final HttpClient http = HttpClient.newHttpClient();

  DcClient(Device device, InetAddress source, URI endpoint) {
    this.source = source;
    this.endpoint = endpoint;
    context = device.open();
    domain = context.allocateProtectionDomain();
    CompletionQueue completions = context.createCompletionQueue(1);
    QueuePair made =
        Mlx5Device.of(context)
            .dcTarget(domain, ACCESS_KEY)
            .receiveCompletions(completions)
            .sharedReceiveQueue(SharedReceiveQueue.create(domain, 1))
            .create();
    made.setup().source(source);
    made.activate();
    target = made.localAddress();
  }

  MemoryRegion region(long size, AccessFlag access) {
    return domain.allocateMemory(size, AccessFlag.LOCAL_WRITE, access);
  }

  /** {@return a queue pair for a connection} */
  QueuePair queuePair() {
    QueuePair made =
        QueuePair.builder(domain, QueuePairType.RC)
            .completions(context.createCompletionQueue(2))
            .create();
    made.setup().source(source);
    return made;
  }

  /** The 81 characters, written here once more: the server's parser is tested against them. */
  String token(MemoryRegion region, long offset, long size) {
    Gid gid = target.gid();
    return String.join(
        ":",
        "%016x".formatted(region.start() + offset),
        "%08x".formatted(size),
        "%08x".formatted(region.rkey()),
        "0000",
        "%06x".formatted(target.number()),
        "1",
        HexFormat.of().formatHex(gid.toBytes()));
  }

  /** Sends a request without a body, with these names and values as signed headers. */
  HttpResponse<byte[]> send(String method, String path, String... headers)
      throws IOException, InterruptedException {
    return send(method, path, List.of(), headers);
  }

  /** The same, with headers that are added after the signature. */
  HttpResponse<byte[]> send(String method, String path, List<String> unsigned, String... headers)
      throws IOException, InterruptedException {
    SdkHttpRequest.Builder request =
        SdkHttpRequest.builder()
            .method(SdkHttpMethod.fromValue(method))
            .uri(endpoint.resolve(path));
    for (int i = 0; i < headers.length; i += 2) {
      request.putHeader(headers[i], headers[i + 1]);
    }
    SignedRequest signed =
        AwsV4HttpSigner.create()
            .sign(
                r ->
                    r.request(request.build())
                        .identity(
                            AwsCredentialsIdentity.create(S3Server.ACCESS_KEY, S3Server.SECRET_KEY))
                        .putProperty(AwsV4HttpSigner.SERVICE_SIGNING_NAME, "s3")
                        .putProperty(AwsV4HttpSigner.REGION_NAME, "us-east-1")
                        .putProperty(AwsV4HttpSigner.DOUBLE_URL_ENCODE, false)
                        .putProperty(AwsV4HttpSigner.NORMALIZE_PATH, false)
                        .putProperty(AwsV4HttpSigner.PAYLOAD_SIGNING_ENABLED, false)
                        .putProperty(AwsV4HttpSigner.CHUNK_ENCODING_ENABLED, false));
    HttpRequest.Builder sent =
        HttpRequest.newBuilder(endpoint.resolve(path))
            .method(method, HttpRequest.BodyPublishers.noBody());
    signed
        .request()
        .forEachHeader(
            (name, values) -> {
              if (!SENT_BY_HTTP_CLIENT.contains(name.toLowerCase(Locale.ROOT))) {
                values.forEach(value -> sent.header(name, value));
              }
            });
    for (int i = 0; i < unsigned.size(); i += 2) {
      sent.header(unsigned.get(i), unsigned.get(i + 1));
    }
    return http.send(sent.build(), HttpResponse.BodyHandlers.ofByteArray());
  }

  static byte[] contents(MemoryRegion region, int from, int to) {
    byte[] all = region.memory().toArray(ValueLayout.JAVA_BYTE);
    return Arrays.copyOfRange(all, from, to);
  }

  @Override
  public void close() {
    http.close();
    context.close();
  }
}
