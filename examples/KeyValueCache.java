import static java.nio.charset.StandardCharsets.UTF_8;

import dev.verbena.messages.ConnectionSettings;
import dev.verbena.messages.Request;
import dev.verbena.messages.RequestClient;
import dev.verbena.messages.RequestServer;
import dev.verbena.values.AccessFlag;
import dev.verbena.verbs.MemoryRegion;
import dev.verbena.verbs.ProtectionDomain;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.net.InetSocketAddress;
import java.time.Duration;
import java.util.Arrays;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.atomic.AtomicLong;

/**
 * A cache of values of up to 1 MiB, which a thousand virtual threads use over eight connections.
 * The server reads a value from the memory of the client when it is put, and keeps a copy; it
 * writes that to the memory of the client when it is got.
 *
 * <p>{@code java --enable-native-access=ALL-UNNAMED -cp verbena.jar KeyValueCache.java 10.9.0.1}
 */
public class KeyValueCache {
  private static final int KEY = 16;
  private static final int LARGEST = 1 << 20;
  private static final int THREADS = 1000;
  private static final int CONNECTIONS = 8;
  private static final Duration SOON = Duration.ofMinutes(5);
  private static final ConnectionSettings SETTINGS =
      ConnectionSettings.DEFAULT.withMessageSize(64).withSends(32).withTimeout(SOON);

  /** A value is not changed: a put replaces it, and the garbage collector frees no region. */
  private record Value(MemoryRegion region, long length) {}

  private final Map<String, Value> values = new ConcurrentHashMap<>();
  private ProtectionDomain domain;

  /** A request is a key; that of a put is followed by the value. */
  private void handle(Request request) {
    MemorySegment bytes = request.bytes();
    String key = new String(bytes.asSlice(0, KEY).toArray(ValueLayout.JAVA_BYTE), UTF_8);
    if (bytes.byteSize() > KEY) {
      long length = bytes.byteSize() - KEY;
      MemoryRegion region = domain.allocateMemory(length);
      MemorySegment.copy(bytes, KEY, region.memory(), 0, length);
      values.put(key, new Value(region, length));
      request.answer(0);
    } else {
      Value value = values.get(key);
      if (value == null) {
        throw new IllegalArgumentException("no value of " + key);
      }
      request.answer(value.region, 0, value.length, null);
    }
  }

  public static void main(String[] args) throws Exception {
    if (args.length != 1) {
      System.out.println("Usage: KeyValueCache ADDRESS");
      return;
    }
    KeyValueCache cache = new KeyValueCache();
    InetSocketAddress local = new InetSocketAddress(args[0], 0);
    try (RequestServer server =
        RequestServer.builder(local, cache::handle)
            .settings(SETTINGS)
            .clients(CONNECTIONS)
            .largest(KEY + LARGEST)
            .open()) {
      cache.domain = server.domain();
      RequestServer _ = server.start();
      InetSocketAddress address = new InetSocketAddress(args[0], server.port());
      RequestClient[] clients = new RequestClient[CONNECTIONS];
      for (int i = 0; i < CONNECTIONS; i++) {
        clients[i] = RequestClient.connect(address, SETTINGS);
      }
      AtomicLong equal = new AtomicLong();
      CountDownLatch ended = new CountDownLatch(THREADS);
      for (int i = 0; i < THREADS; i++) {
        int number = i;
        Thread.ofVirtual()
            .start(
                () -> {
                  equal.addAndGet(putAndGet(clients[number % CONNECTIONS], number) ? 1 : 0);
                  ended.countDown();
                });
      }
      ended.await();
      System.out.println(equal + " values are equal");
      Arrays.stream(clients).forEach(RequestClient::close);
    }
  }

  private static boolean putAndGet(RequestClient client, int number) {
    long length = LARGEST >> number % 16;
    try (MemoryRegion memory =
        client
            .domain()
            .allocateMemory(
                KEY + length,
                AccessFlag.LOCAL_WRITE,
                AccessFlag.REMOTE_READ,
                AccessFlag.REMOTE_WRITE)) {
      byte[] key = "key %012d".formatted(number).getBytes(UTF_8);
      MemorySegment.copy(key, 0, memory.memory(), ValueLayout.JAVA_BYTE, 0, KEY);
      MemorySegment value = memory.memory().asSlice(KEY);
      value.fill((byte) number);
      client.call(memory, 0, KEY + length, MemorySegment.NULL, SOON);
      byte[] put = value.toArray(ValueLayout.JAVA_BYTE);
      value.fill((byte) 0);
      long got = client.call(MemorySegment.ofArray(key), memory, KEY, length, SOON);
      return got == length && Arrays.equals(put, value.toArray(ValueLayout.JAVA_BYTE));
    } catch (InterruptedException e) {
      return false;
    }
  }
}
