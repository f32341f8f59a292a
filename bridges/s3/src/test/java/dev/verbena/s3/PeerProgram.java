package dev.verbena.s3;

import static dev.verbena.s3.Peers.check;

import java.net.URI;
import java.util.Arrays;
import java.util.EnumMap;
import java.util.EnumSet;
import java.util.List;
import java.util.Map;
import java.util.stream.IntStream;
import software.amazon.awssdk.core.checksums.RequestChecksumCalculation;
import software.amazon.awssdk.core.sync.RequestBody;
import software.amazon.awssdk.regions.Region;
import software.amazon.awssdk.services.s3.S3Client;
import software.amazon.awssdk.services.s3.S3ClientBuilder;
import software.amazon.awssdk.services.s3.model.CompletedPart;

/** A program that knows nothing of RDMA, and checks what it stored and read at an endpoint. */
final class PeerProgram {
  private static final int[] SIZES = {300_000, 1 << 20, 5_000_001};
  private static final List<Integer> PARTS = List.of(5 << 20, (5 << 20) + 4321, 300_001);

  private final String name;
  private final S3Client client;
  private final Map<S3Counter, Long> byRdma = new EnumMap<>(S3Counter.class);

  private PeerProgram(String name, S3Client client) {
    this.name = name;
    this.client = client;
  }

  /** Checks that all objects, ranges and parts are equal, and what became of the calls. */
  static void checkRdma(String name, String endpoint, Map<String, String> settings) {
    try (S3Client client = client(S3Client.builder(), endpoint, settings)) {
      Map<S3Counter, Long> expected = new PeerProgram(name, client).run();
      Map<S3Counter, Long> found = counters(endpoint);
      check(name + ": by RDMA " + expected + ", in all " + found, found.equals(expected));
    }
  }

  /** The same at a server that declines. */
  static void checkDeclines(
      String name, String endpoint, Map<String, String> settings, S3Counter declined) {
    S3ClientBuilder withoutChunks = // Which the server would store as a part of the data.
        S3Client.builder()
            .requestChecksumCalculation(RequestChecksumCalculation.WHEN_REQUIRED)
            .serviceConfiguration(s -> s.chunkedEncodingEnabled(false));
    try (S3Client client = client(withoutChunks, endpoint, settings)) {
      new PeerProgram(name, client).run();
      Map<S3Counter, Long> found = counters(endpoint);
      check(
          name + ": declined, then by HTTP, " + found,
          found.containsKey(declined)
              && EnumSet.of(declined, S3Counter.PAUSED, S3Counter.REPEATED, S3Counter.DISCARDED)
                  .containsAll(found.keySet()));
    }
  }

  private static S3Client client(
      S3ClientBuilder builder, String endpoint, Map<String, String> settings) {
    settings.forEach((key, value) -> System.setProperty(Settings.PREFIX + key, value));
    System.setProperty(Settings.PREFIX + "endpoints", endpoint);
    return builder
        .endpointOverride(URI.create("http://" + endpoint))
        .forcePathStyle(true)
        .region(Region.US_EAST_1)
        .credentialsProvider(Rig.credentials())
        .build();
  }

  /** Returns what became of the calls to an endpoint, without zeros and registrations. */
  private static Map<S3Counter, Long> counters(String endpoint) {
    Map<S3Counter, Long> counters = new EnumMap<>(S3Rdma.counters().get(endpoint));
    counters.remove(S3Counter.REGISTRATIONS);
    counters.values().removeIf(count -> count == 0);
    return counters;
  }

  /** Stores, reads and compares. Returns the counters if all calls go by RDMA. */
  private Map<S3Counter, Long> run() {
    client.createBucket(b -> b.bucket(Rig.BUCKET));
    for (int size : SIZES) {
      object(Rig.random(size));
    }
    parts(PARTS.stream().map(Rig::random).toList());
    return byRdma;
  }

  private void object(byte[] data) {
    client.putObject(b -> b.bucket(Rig.BUCKET).key("object"), RequestBody.fromBytes(data));
    count(S3Counter.PUT, S3Counter.PUT_BYTES, data.length);
    int size = data.length;
    compare(data, 0, size, get("object", range(0, size)));
    compare(data, 1, size - 1, get("object", range(1, size - 1)));
    compare(data, 1000, size, get("object", "bytes=-" + (size - 1000)));
  }

  private void parts(List<byte[]> parts) {
    String id = client.createMultipartUpload(b -> b.bucket(Rig.BUCKET).key("parts")).uploadId();
    List<CompletedPart> completed =
        IntStream.rangeClosed(1, parts.size())
            .mapToObj(number -> part(id, number, parts.get(number - 1)))
            .toList();
    client.completeMultipartUpload(
        b ->
            b.bucket(Rig.BUCKET)
                .key("parts")
                .uploadId(id)
                .multipartUpload(u -> u.parts(completed)));
    int start = 0;
    for (byte[] part : parts) {
      compare(part, 0, part.length, get("parts", range(start, start + part.length)));
      start += part.length;
    }
  }

  private CompletedPart part(String id, int number, byte[] data) {
    String tag =
        client
            .uploadPart(
                b -> b.bucket(Rig.BUCKET).key("parts").uploadId(id).partNumber(number),
                RequestBody.fromBytes(data))
            .eTag();
    count(S3Counter.PUT, S3Counter.PUT_BYTES, data.length);
    return CompletedPart.builder().partNumber(number).eTag(tag).build();
  }

  private static String range(int from, int to) {
    return "bytes=" + from + "-" + (to - 1);
  }

  private byte[] get(String key, String range) {
    byte[] data =
        client.getObjectAsBytes(b -> b.bucket(Rig.BUCKET).key(key).range(range)).asByteArray();
    count(S3Counter.GET, S3Counter.GET_BYTES, data.length);
    return data;
  }

  private void compare(byte[] stored, int from, int to, byte[] read) {
    check(
        "%s: bytes %d to %d of %d are equal".formatted(name, from, to, stored.length),
        Arrays.equals(stored, from, to, read, 0, read.length));
  }

  private void count(S3Counter calls, S3Counter bytes, int size) {
    byRdma.merge(calls, 1L, Long::sum);
    byRdma.merge(bytes, (long) size, Long::sum);
  }
}
