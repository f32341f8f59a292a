package dev.verbena.verbs;

import static dev.verbena.testing.DeviceKind.MLX5;
import static dev.verbena.testing.DeviceKind.SOFTWARE;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNotEquals;

import dev.verbena.address.QueuePairAddress;
import dev.verbena.testing.DeviceTest;
import dev.verbena.testing.On;
import dev.verbena.testing.Rig;
import dev.verbena.values.CompletionField;
import dev.verbena.values.CompletionStatus;
import dev.verbena.values.QueuePairCapacity;
import dev.verbena.values.QueuePairType;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.util.Map;
import java.util.Set;
import java.util.TreeSet;
import java.util.concurrent.ConcurrentHashMap;
import org.jspecify.annotations.Nullable;

/**
 * Queues in memory of an allocator of the program, as rdma-core's test_parent_domain.py uses them.
 * A software device has its queues in the Java heap and does not call the allocator.
 */
@On(
    value = {SOFTWARE, MLX5},
    reason = "Soft-RoCE has no parent domains")
class AllocatedQueuesTest {
  private static final int ROUNDS = 10;
  private static final int SIZE = 1024;

  /** Codes of libmlx5: {@code MLX5DV_RES_TYPE_QP} and so on. */
  private static final long QP = 1L << 32 | 1;

  private static final long DOORBELL = 1L << 32 | 3;
  private static final long SRQ = 1L << 32 | 4;
  private static final long CQ = 1L << 32 | 5;

  /** Memory with an arena for each block. */
  private static final class Blocks implements ProviderAllocator {
    private final Map<MemorySegment, Arena> open = new ConcurrentHashMap<>();
    private final Set<Long> resources = ConcurrentHashMap.newKeySet();

    @Override
    public MemorySegment allocate(long size, long alignment, long resource) {
      Arena arena = Arena.ofShared();
      MemorySegment block = arena.allocate(size, alignment);
      open.put(block, arena);
      resources.add(resource);
      return block;
    }

    @Override
    public void free(MemorySegment memory, long resource) {
      open.remove(memory).close();
    }

    /** A sum that changes if a byte of the memory does, but for very few changes. */
    long sum() {
      long sum = 0;
      for (MemorySegment block : open.keySet()) {
        for (byte b : block.toArray(ValueLayout.JAVA_BYTE)) {
          sum = sum * 31 + b;
        }
      }
      return sum;
    }
  }

  /** Lets the provider allocate everything. */
  private static final class Default implements ProviderAllocator {
    private int calls;

    @Override
    public @Nullable MemorySegment allocate(long size, long alignment, long resource) {
      calls++;
      return null;
    }

    @Override
    public void free(MemorySegment memory, long resource) {
      throw new AssertionError("nothing was allocated");
    }
  }

  private static ParentDomain domain(Pair.Side side, ProviderAllocator allocator) {
    return Rig.orSkip(ParentDomain.builder(side.domain).allocator(allocator)::create);
  }

  private static QueuePairBuilder builder(ProtectionDomain domain, QueuePairType type) {
    return QueuePair.builder(domain, type).capacity(QueuePairCapacity.of(16));
  }

  private static QueuePair queuePair(
      Pair.Side side, QueuePairType type, ProviderAllocator allocator) {
    return builder(domain(side, allocator), type).completions(side.completionQueue).create();
  }

  /** Sends messages from a to b, each after a receive request. */
  private static void transfer(Pair pair, SendList list, long offset, Runnable receive) {
    for (int i = 1; i <= ROUNDS; i++) {
      pair.a.memory.memory().fill((byte) i);
      receive.run();
      pair.a.run(list);
      pair.b.completion(CompletionStatus.SUCCESS);
      assertArrived(pair, offset);
    }
  }

  private static void assertArrived(Pair pair, long offset) {
    MemorySegment sent = pair.a.memory.memory().asSlice(0, SIZE);
    assertEquals(-1, sent.mismatch(pair.b.memory.memory().asSlice(offset, SIZE)));
  }

  private static SendList message(Pair pair) {
    SendList list = new SendList(1, 1);
    list.send(0).local(pair.a.memory, 0, SIZE).signaled();
    return list;
  }

  private static void assertUsed(Blocks blocks, Runnable traffic, Long... resources) {
    if (Rig.isSoftware()) {
      traffic.run();
      assertEquals(Set.of(), blocks.resources);
    } else {
      assertEquals(Set.of(resources), new TreeSet<>(blocks.resources));
      long before = blocks.sum();
      traffic.run();
      assertNotEquals(before, blocks.sum(), "no queue is in the memory");
    }
  }

  @DeviceTest
  void reliableConnectionsAreInTheMemoryOfTheAllocator() {
    Blocks a = new Blocks();
    Blocks b = new Blocks();
    try (Pair pair = new Pair()) {
      pair.a.queuePair = queuePair(pair.a, QueuePairType.RC, a);
      pair.b.queuePair = queuePair(pair.b, QueuePairType.RC, b);
      pair.connect();
      Runnable traffic = () -> transfer(pair, message(pair), 0, () -> pair.b.receive(1));
      assertUsed(a, () -> assertUsed(b, traffic, QP, DOORBELL), QP, DOORBELL);
    }
    assertEquals(Map.of(), a.open);
    assertEquals(Map.of(), b.open);
  }

  @DeviceTest
  void datagramsAreInTheMemoryOfTheAllocator() {
    Blocks blocks = new Blocks();
    try (Pair pair = new Pair()) {
      pair.a.queuePair = queuePair(pair.a, QueuePairType.UD, blocks);
      pair.b.queuePair = pair.b.builder(QueuePairType.UD).create();
      pair.setup();
      QueuePairAddress b = pair.b.queuePair.localAddress();
      SendList list = message(pair);
      list.to(0, pair.handleToB(), b.number(), b.queueKey());
      Runnable traffic = () -> transfer(pair, list, 40, () -> pair.b.receive(1));
      assertUsed(blocks, traffic, QP, DOORBELL);
    }
    assertEquals(Map.of(), blocks.open);
  }

  /** The queue pair of b has its receive requests and its completions in this memory. */
  @DeviceTest
  void sharedReceiveQueuesAndCompletionQueuesAreInTheMemoryOfTheAllocator() {
    Blocks blocks = new Blocks();
    try (Pair pair = new Pair()) {
      ParentDomain domain = domain(pair.b, blocks);
      ExtendedCompletionQueue completions =
          pair.b
              .context
              .completionQueue(64)
              .parentDomain(domain)
              .createExtended(CompletionField.BYTE_LEN);
      SharedReceiveQueue queue = SharedReceiveQueue.create(domain, 8);
      pair.a.queuePair = pair.a.builder(QueuePairType.RC).create();
      pair.b.queuePair =
          builder(domain, QueuePairType.RC)
              .completions(completions)
              .sharedReceiveQueue(queue)
              .create();
      pair.connect();
      ReceiveList receive = new ReceiveList(1, 1);
      receive.local(0, pair.b.memory, 0, SIZE);
      Runnable traffic =
          () -> {
            for (int i = 1; i <= ROUNDS; i++) {
              pair.a.memory.memory().fill((byte) i);
              receive.id(0, i);
              assertEquals(1, queue.post(receive));
              pair.a.run(message(pair));
              try (CompletionCursor received = CqExTest.next(completions)) {
                assertEquals(CompletionStatus.SUCCESS, received.status());
                assertEquals(i, received.id());
                assertEquals(SIZE, received.byteLength());
              }
              assertArrived(pair, 0);
            }
          };
      assertUsed(blocks, traffic, QP, DOORBELL, SRQ, CQ);
    }
    assertEquals(Map.of(), blocks.open);
  }

  @DeviceTest
  void anAllocatorLetsTheProviderAllocate() {
    Default allocator = new Default();
    try (Pair pair = new Pair()) {
      pair.a.queuePair = queuePair(pair.a, QueuePairType.RC, allocator);
      pair.b.queuePair = queuePair(pair.b, QueuePairType.RC, allocator);
      pair.connect();
      transfer(pair, message(pair), 0, () -> pair.b.receive(1));
      assertEquals(Rig.isSoftware(), allocator.calls == 0);
    }
  }
}
