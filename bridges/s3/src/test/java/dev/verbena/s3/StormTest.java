package dev.verbena.s3;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.verbena.s3.server.Fault;
import dev.verbena.s3.server.Profile;
import dev.verbena.s3.server.S3Request;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Random;
import java.util.concurrent.Callable;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.function.Predicate;
import org.junit.jupiter.api.Test;
import software.amazon.awssdk.awscore.retry.AwsRetryStrategy;
import software.amazon.awssdk.core.async.AsyncRequestBody;
import software.amazon.awssdk.core.async.AsyncResponseTransformer;
import software.amazon.awssdk.core.client.config.ClientOverrideConfiguration;
import software.amazon.awssdk.core.sync.RequestBody;
import software.amazon.awssdk.retries.api.BackoffStrategy;
import software.amazon.awssdk.services.s3.S3AsyncClient;
import software.amazon.awssdk.services.s3.S3Client;
import software.amazon.awssdk.services.s3.model.CompletedPart;
import software.amazon.awssdk.services.s3.model.NoSuchKeyException;

/** Many threads at a server with faults: each object that is read is the one that was stored. */
class StormTest {
  private static final int THREADS = 32;
  private static final int CALLS = 25;
  private static final String PARTS = "parts-";
  private static final long SEED = 20261130;
  private static final List<Profile> PROFILES =
      List.of(
          Profile.SPEC,
          Profile.SPEC,
          Profile.CEPH,
          Profile.NOOBAA,
          Profile.VERSITY,
          Profile.DECLINES_IN_SPEC_WAY,
          Profile.DECLINES_BY_ERROR);

  private final Random chance = new Random(SEED);

  @Test
  void eachObjectIsThatOfItsKey() throws Exception {
    try (Rig rig = new Rig(Profile.SPEC);
        ExecutorService threads = Executors.newFixedThreadPool(THREADS)) {
      rig.settings.put("poolBytes", "32m"); // Too little for all threads at a time.
      rig.settings.put("maxBytes", "4m");
      Clients clients =
          new Clients(
              rig.client(S3Client.builder().overrideConfiguration(patient())),
              rig.client(S3AsyncClient.builder().overrideConfiguration(patient())));
      List<Future<?>> running = new ArrayList<>();
      clients.store("first");
      clients.read("first", new Random(SEED));
      plan(rig);
      for (int i = 0; i < THREADS; i++) {
        int thread = i;
        running.add(threads.submit(calls(clients, thread)));
      }
      while (running.stream().anyMatch(f -> !f.isDone())) {
        rig.server.profile(PROFILES.get(chance(PROFILES.size())));
        for (Operation operation : Operation.values()) {
          rig.used().moved(operation, 0); // Ends the pauses.
        }
        Thread.sleep(5);
      }
      for (Future<?> calls : running) {
        calls.get();
      }
      rig.server
          .objects()
          .forEach((path, o) -> assertArrayEquals(content(path.split("/")[2]), o.data()));
      assertEquals(rig.used().bytes(), rig.used().freeBytes());
      assertTrue(rig.server.counters().rdmaRead() > 0);
      assertTrue(rig.server.counters().rdmaWritten() > 0);
      assertEquals(List.of(), List.copyOf(rig.server.errors()));
    }
  }

  /** No number of faults is too much for it. */
  private static ClientOverrideConfiguration patient() {
    return ClientOverrideConfiguration.builder()
        .retryStrategy(
            AwsRetryStrategy.standardRetryStrategy().toBuilder()
                .maxAttempts(10)
                .circuitBreakerEnabled(false)
                .backoffStrategy(BackoffStrategy.retryImmediately())
                .throttlingBackoffStrategy(BackoffStrategy.retryImmediately())
                .build())
        .build();
  }

  private synchronized int chance(int bound) {
    return chance.nextInt(bound);
  }

  private void plan(Rig rig) {
    Predicate<S3Request> withToken = r -> r.token().isPresent();
    Predicate<S3Request> get = withToken.and(r -> r.method().equals("GET"));
    for (Fault fault : Fault.values()) {
      Predicate<S3Request> which =
          switch (fault) {
            case WRONG_DATA -> get.and(StormTest::hasChecksum);
            case NO_REPLY -> get; // With a PUT, a server that knows no tokens.
            default -> withToken;
          };
      rig.server.faults().when(which.and(_ -> chance(15) == 0), fault);
    }
  }

  private static int size(String key) {
    return 100_000 + new Random(key.hashCode()).nextInt(1_400_000);
  }

  private static byte[] content(String key) {
    byte[] content = new byte[size(key)];
    new Random(key.hashCode()).nextBytes(content);
    return content;
  }

  private static String whole(String key) {
    return "bytes=0-" + (size(key) - 1);
  }

  /** The checksum of an object of parts is not that of its data. */
  private static boolean hasChecksum(S3Request get) {
    return !get.key().startsWith(PARTS) && get.headers().get("range").equals(whole(get.key()));
  }

  private static Callable<Void> calls(Clients clients, int thread) {
    return () -> {
      Random random = new Random(SEED + thread);
      List<String> stored = new ArrayList<>();
      for (int i = 0; i < CALLS; i++) {
        if (stored.isEmpty() || random.nextInt(3) == 0) {
          String key = thread + "-" + i;
          switch (random.nextInt(3)) {
            case 0 -> clients.store(key);
            case 1 -> clients.storeAsync(key);
            default -> {
              key = PARTS + key;
              clients.storeParts(key);
            }
          }
          stored.add(key);
        } else if (random.nextInt(6) == 0) {
          clients.delete(stored.remove(random.nextInt(stored.size())));
        } else {
          clients.read(stored.get(random.nextInt(stored.size())), random);
        }
      }
      return null;
    };
  }

  private record Clients(S3Client sync, S3AsyncClient async) {
    void store(String key) {
      sync.putObject(b -> b.bucket(Rig.BUCKET).key(key), RequestBody.fromBytes(content(key)));
    }

    void storeAsync(String key) {
      async
          .putObject(b -> b.bucket(Rig.BUCKET).key(key), AsyncRequestBody.fromBytes(content(key)))
          .join();
    }

    void storeParts(String key) {
      byte[] content = content(key);
      String id =
          sync.createMultipartUpload(b -> b.bucket(Rig.BUCKET).key(key).checksumAlgorithm("CRC32"))
              .uploadId();
      List<CompletedPart> parts = new ArrayList<>();
      int half = content.length / 2;
      for (int number = 1; number <= 2; number++) {
        int part = number;
        byte[] data =
            number == 1
                ? Arrays.copyOf(content, half)
                : Arrays.copyOfRange(content, half, content.length);
        String tag =
            sync.uploadPart(
                    b -> b.bucket(Rig.BUCKET).key(key).uploadId(id).partNumber(part),
                    RequestBody.fromBytes(data))
                .eTag();
        parts.add(CompletedPart.builder().partNumber(part).eTag(tag).build());
      }
      sync.completeMultipartUpload(
          b -> b.bucket(Rig.BUCKET).key(key).uploadId(id).multipartUpload(m -> m.parts(parts)));
    }

    void read(String key, Random random) {
      byte[] content = content(key);
      int from = random.nextInt(content.length);
      String range =
          switch (random.nextInt(4)) {
            case 0 -> whole(key);
            case 1 -> "bytes=-" + (content.length - from);
            default -> "bytes=" + from + "-" + (content.length - 1);
          };
      byte[] expected =
          range.equals(whole(key)) ? content : Arrays.copyOfRange(content, from, content.length);
      byte[] read =
          random.nextBoolean()
              ? sync.getObjectAsBytes(b -> b.bucket(Rig.BUCKET).key(key).range(range)).asByteArray()
              : async
                  .getObject(
                      b -> b.bucket(Rig.BUCKET).key(key).range(range),
                      AsyncResponseTransformer.toBytes())
                  .join()
                  .asByteArray();
      assertArrayEquals(expected, read, key + " " + range);
    }

    void delete(String key) {
      sync.deleteObject(b -> b.bucket(Rig.BUCKET).key(key));
      assertThrows(
          NoSuchKeyException.class,
          () -> sync.getObjectAsBytes(b -> b.bucket(Rig.BUCKET).key(key).range(whole(key))));
    }
  }
}
