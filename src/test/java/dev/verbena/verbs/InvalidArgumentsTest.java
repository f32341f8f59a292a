package dev.verbena.verbs;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;

import dev.verbena.fake.FakeProvider;
import dev.verbena.flow.FlowMatch;
import dev.verbena.flow.FlowRule;
import dev.verbena.util.ReceiveRing;
import dev.verbena.values.QueuePairCapacity;
import dev.verbena.values.QueuePairType;
import java.lang.foreign.Arena;
import java.time.Duration;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;

/** Arguments are refused where they are given, not where they are used. */
class InvalidArgumentsTest {
  private static final Duration LONGEST = Duration.ofSeconds(Long.MAX_VALUE);
  private static final Duration MOST_NEGATIVE = Duration.ofSeconds(Long.MIN_VALUE);

  private final FakeProvider provider = new FakeProvider();
  private final Context context = FakeDevices.of(provider).open();
  private final ProtectionDomain domain = context.allocateProtectionDomain();
  private final CompletionChannel channel = context.createCompletionChannel();
  private final CompletionQueue queue = context.completionQueue(8).channel(channel).create();

  @AfterEach
  void close() {
    context.close();
    provider.close();
  }

  private QueuePair packets() {
    return QueuePair.builder(domain, QueuePairType.RAW_PACKET)
        .completions(queue)
        .capacity(QueuePairCapacity.of(1))
        .create();
  }

  @Test
  void nullThrowsImmediately() {
    ReceiveList list = new ReceiveList(1, 1);
    assertThrows(NullPointerException.class, () -> new ReceiveRing(null, list));
    assertThrows(NullPointerException.class, () -> DmaHandle.builder(context).memoryType(null));
    assertThrows(NullPointerException.class, () -> new GidChoice(null, 0, "none"));
    FlowRule.Builder rule = FlowRule.on(packets(), 1);
    assertThrows(NullPointerException.class, () -> rule.action(null));
    assertThrows(NullPointerException.class, () -> rule.count(null));
  }

  /** The short form of the IPv4 header becomes the long one. */
  @Test
  void aRuleKeepsItsHeadersAsTheyWere() {
    FlowMatch.Ipv4 header = FlowMatch.ipv4().source(0x0a000001);
    FlowRule.Builder rule = FlowRule.on(packets(), 1).match(header);
    header.timeToLive(5);
    rule.create().close();
  }

  @Test
  void aWorkQueueNeedsACompletionQueue() {
    assertThrows(IllegalStateException.class, WorkQueue.builder(domain)::create);
  }

  @Test
  void listsWithMoreEntriesThanAnArrayHoldsThrow() {
    int many = Integer.MAX_VALUE;
    assertThrows(IllegalArgumentException.class, () -> new SendList(many, 2));
    assertThrows(IllegalArgumentException.class, () -> new ReceiveList(2, many));
    assertThrows(IllegalArgumentException.class, () -> new TagOperations(many, many));
  }

  @Test
  void anEntryOfNoRequestIsNamed() {
    try (Arena arena = Arena.ofShared();
        MemoryRegion region = domain.registerMemory(arena.allocate(8))) {
      ReceiveList list = new ReceiveList(1, 1);
      var refused =
          assertThrows(IndexOutOfBoundsException.class, () -> list.local(4, -1, region, 0, 8));
      assertEquals("Index 4 out of bounds for length 1", refused.getMessage());
      assertEquals(IndexOutOfBoundsException.class, refused.getClass());
    }
  }

  @Test
  void durationsOutOfRangeThrow() throws InterruptedException {
    assertThrows(IllegalArgumentException.class, () -> queue.moderate(1, LONGEST));
    assertThrows(IllegalArgumentException.class, () -> queue.moderate(1, MOST_NEGATIVE));
    CompletionWaiter waiter = new CompletionWaiter(queue, Duration.ZERO);
    assertEquals(0, waiter.poll(new Completions(1), MOST_NEGATIVE));
  }
}
