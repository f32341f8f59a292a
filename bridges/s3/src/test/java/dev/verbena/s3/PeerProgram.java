package dev.verbena.s3;

import static dev.verbena.s3.Peers.check;

import java.net.URI;
import java.util.Arrays;
import java.util.EnumMap;
import java.util.List;
import java.util.Map;
import java.util.stream.IntStream;
import software.amazon.awssdk.core.sync.RequestBody;
import software.amazon.awssdk.regions.Region;
import software.amazon.awssdk.services.s3.S3Client;
import software.amazon.awssdk.services.s3.model.CompletedPart;

/** A program that knows nothing of RDMA, and checks what it stored and read at an endpoint. */
final class PeerProgram {
  private static final int[] SIZES = {300_000, 1 << 20, 5_000_001};
  private static final List<Integer> PARTS = List.of(5 << 20, (5 << 20) + 4321, 300_001);

  private final String name;
  private final S3Client client;
  private final Map<S3Counter, Long> expected = new EnumMap<>(S3Counter.class);

  private PeerProgram(String name, S3Client client) {
    this.name = name;
    this.client = client;
  }

  /** Stores and reads objects and parts, and checks that nothing went by HTTP or was repeated. */
  static void run(String name, String endpoint, Map<String, String> settings) {
    settings.forEach((key, value) -> System.setProperty(Settings.PREFIX + key, value));
    System.setProperty(Settings.PREFIX + "endpoints", endpoint);
    try (S3Client client =
        S3Client.builder()
            .endpointOverride(URI.create("http://" + endpoint))
            .forcePathStyle(true)
            .region(Region.US_EAST_1)
            .credentialsProvider(Rig.credentials())
            .build()) {
      PeerProgram program = new PeerProgram(name, client);
      client.createBucket(b -> b.bucket(Rig.BUCKET));
      for (int size : SIZES) {
        program.object(Rig.random(size));
      }
      program.parts(PARTS.stream().map(Rig::random).toList());
      program.checkCounters(S3Rdma.counters().get(endpoint));
    }
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
    expected.merge(calls, 1L, Long::sum);
    expected.merge(bytes, (long) size, Long::sum);
  }

  private void checkCounters(Map<S3Counter, Long> counted) {
    Map<S3Counter, Long> found = new EnumMap<>(counted);
    found.remove(S3Counter.REGISTRATIONS);
    found.values().removeIf(count -> count == 0);
    check(name + ": by RDMA " + expected + ", in all " + found, found.equals(expected));
  }
}
