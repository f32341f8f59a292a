package dev.verbena.internal.mlx5;

import static dev.verbena.testing.DeviceKind.MLX5;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNotEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.verbena.Errno;
import dev.verbena.VerbsException;
import dev.verbena.internal.Providers;
import dev.verbena.internal.QueueMaker;
import dev.verbena.internal.life.Core;
import dev.verbena.testing.Await;
import dev.verbena.testing.DeviceTest;
import dev.verbena.testing.On;
import dev.verbena.testing.Rig;
import dev.verbena.values.AccessFlag;
import dev.verbena.values.QueuePairType;
import dev.verbena.verbs.CompletionQueue;
import dev.verbena.verbs.Completions;
import dev.verbena.verbs.Context;
import dev.verbena.verbs.MemoryRegion;
import dev.verbena.verbs.ParentDomain;
import dev.verbena.verbs.ProtectionDomain;
import dev.verbena.verbs.ProviderAllocator;
import dev.verbena.verbs.QueuePair;
import dev.verbena.verbs.QueuePairBuilder;
import dev.verbena.verbs.SendList;
import dev.verbena.verbs.ThreadDomain;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.lang.reflect.Field;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeSet;
import java.util.concurrent.ConcurrentHashMap;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;

/** The doorbell registers of direct queue pairs, and the domains that they are created in. */
@On(MLX5)
class RegistersTest {
  /** How many queue pairs of a context have a register of their own. */
  private static final int OWN = 64;

  private Context context;
  private ProtectionDomain domain;
  private CompletionQueue queue;

  @BeforeEach
  void open() {
    context = Rig.a().open();
    domain = context.allocateProtectionDomain();
    queue = context.completionQueue(64).direct().create();
  }

  @AfterEach
  void close() {
    context.close();
  }

  private QueuePair queuePair(ProtectionDomain in) {
    QueuePair queuePair = QueuePair.builder(in, QueuePairType.RC).completions(queue).create();
    assertTrue(queuePair.isDirect());
    return queuePair;
  }

  private static long register(QueuePair queuePair) {
    return QueueMemory.queuePair(Providers.mlx5dv(), queuePair.segment().address()).register();
  }

  /** Returns whether entries are copied into the register. */
  private static boolean isOwn(QueuePair queuePair) throws ReflectiveOperationException {
    Object register = field(field(field(queuePair, "calls"), "sends"), "register");
    assertEquals(register(queuePair), field(register, "address"));
    return (int) field(register, "largestInline") > 0;
  }

  private static Object field(Object owner, String name) throws ReflectiveOperationException {
    Field field = owner.getClass().getDeclaredField(name);
    field.setAccessible(true);
    return field.get(owner);
  }

  private void write(QueuePair queuePair, MemoryRegion region, long value) {
    SendList sends = new SendList(1, 1);
    sends.write(0).local(region, 0, 8).remote(region.start() + 8, region.rkey()).signaled();
    region.memory().set(ValueLayout.JAVA_LONG, 0, value);
    assertEquals(1, queuePair.post(sends));
    Completions completions = new Completions(1);
    Await.until("the completion of the write", () -> queue.poll(completions) == 1);
    assertTrue(completions.isSuccess(0), () -> completions.describe(0));
    assertEquals(value, region.memory().get(ValueLayout.JAVA_LONG, 8));
  }

  @DeviceTest
  void queuePairsHaveRegistersOfTheirOwn() throws Exception {
    QueuePair first = queuePair(domain);
    QueuePair second = queuePair(domain);
    assertTrue(isOwn(first));
    assertTrue(isOwn(second));
    assertNotEquals(register(first), register(second));
    assertEquals(domain, first.domain());
    try (CompletionQueue ofLibmlx5 = context.completionQueue(8).createExtended()) {
      QueuePair other = QueuePair.builder(domain, QueuePairType.RC).completions(ofLibmlx5).create();
      assertFalse(other.isDirect());
      assertFalse(Set.of(register(first), register(second)).contains(register(other)));
    }
  }

  /** The program promises that one thread at a time uses it, but perhaps other queue pairs do. */
  @DeviceTest
  void registerOfAThreadDomainOfTheProgramIsNotOwned() throws Exception {
    ParentDomain parent =
        ParentDomain.builder(domain).threadDomain(ThreadDomain.allocate(context)).create();
    QueuePair first = queuePair(parent);
    QueuePair second = queuePair(parent);
    assertEquals(register(first), register(second));
    assertFalse(isOwn(first));
    assertFalse(isOwn(second));
    assertTrue(isOwn(queuePair(domain)));
  }

  @DeviceTest
  void furtherQueuePairsShareARegister() throws Exception {
    List<QueuePair> all = new ArrayList<>();
    Set<Long> own = new TreeSet<>();
    for (int i = 0; i < OWN; i++) {
      QueuePair queuePair = queuePair(domain);
      assertTrue(isOwn(queuePair), "queue pair " + i);
      assertTrue(own.add(register(queuePair)), "register of queue pair " + i);
      all.add(queuePair);
    }
    QueuePair first = queuePair(domain);
    QueuePair second = queuePair(domain);
    assertFalse(isOwn(first));
    assertFalse(isOwn(second));
    assertEquals(register(first), register(second));
    assertFalse(own.contains(register(first)));
    long freed = register(all.get(7));
    all.get(7).close();
    QueuePair next = queuePair(domain);
    assertTrue(isOwn(next));
    assertEquals(freed, register(next));
    assertFalse(isOwn(queuePair(domain)));
  }

  /** Those with a register of their own and those that share one, connected to themselves. */
  @DeviceTest
  void threeHundredQueuePairsCanBeUsed() {
    MemoryRegion region =
        domain.allocateMemory(16, AccessFlag.LOCAL_WRITE, AccessFlag.REMOTE_WRITE);
    List<QueuePair> all = new ArrayList<>();
    for (int i = 0; i < 300; i++) {
      QueuePair queuePair = queuePair(domain);
      queuePair.connect(queuePair.localAddress());
      all.add(queuePair);
    }
    for (int i = 0; i < all.size(); i++) {
      write(all.get(i), region, 1 + i);
      write(all.get(i), region, -1 - i);
    }
  }

  /** Memory with an arena for each block. */
  private static final class Blocks implements ProviderAllocator {
    private final Map<MemorySegment, Arena> open = new ConcurrentHashMap<>();

    @Override
    public MemorySegment allocate(long size, long alignment, long resource) {
      Arena arena = Arena.ofShared();
      MemorySegment block = arena.allocate(size, alignment);
      open.put(block, arena);
      return block;
    }

    @Override
    public void free(MemorySegment memory, long resource) {
      open.remove(memory).close();
    }

    boolean contain(long address) {
      return open.keySet().stream()
          .anyMatch(b -> address >= b.address() && address < b.address() + b.byteSize());
    }
  }

  @DeviceTest
  void queuesAreInTheMemoryOfAnAllocator() throws Exception {
    Blocks blocks = new Blocks();
    ParentDomain parent = ParentDomain.builder(domain).allocator(blocks).create();
    QueuePair queuePair = queuePair(parent);
    assertTrue(isOwn(queuePair));
    QueueMemory.OfQueuePair memory =
        QueueMemory.queuePair(Providers.mlx5dv(), queuePair.segment().address());
    assertTrue(blocks.contain(memory.sends()));
    assertTrue(blocks.contain(memory.record()));
    queuePair.connect(queuePair.localAddress());
    MemoryRegion region =
        domain.allocateMemory(16, AccessFlag.LOCAL_WRITE, AccessFlag.REMOTE_WRITE);
    write(queuePair, region, 7);
    queuePair.close();
    assertEquals(Map.of(), blocks.open);
  }

  /**
   * Closing the domain first closes the queue pair, and then what the queue pair was created in.
   */
  @DeviceTest
  void domainsAreClosedAfterTheirQueuePairs() {
    Blocks blocks = new Blocks();
    ParentDomain parent = ParentDomain.builder(domain).allocator(blocks).create();
    QueuePair queuePair = queuePair(parent);
    QueuePair other = queuePair(domain);
    parent.close();
    assertFalse(queuePair.isOpen());
    assertEquals(Map.of(), blocks.open);
    assertTrue(other.isOpen());
    domain.close(); // EBUSY if a parent domain were left.
    assertFalse(other.isOpen());
  }

  @DeviceTest
  void threadDomainsAreDeallocatedWithTheContext() throws Exception {
    QueuePair queuePair = queuePair(domain);
    Object domains = field(field(context, "directPath"), "threadDomains");
    assertNotEquals(0L, field(domains, "shared"));
    assertEquals(1, field(domains, "ownCount"));
    context.close();
    assertFalse(queuePair.isOpen());
    assertEquals(0L, field(domains, "shared"));
    assertEquals(0, field(domains, "ownCount"));
  }

  @DeviceTest
  void failedCreationLeavesNothingInTheDomain() {
    QueueMaker maker =
        new QueueMaker(
            attr -> {
              Core.of(domain).closeWhenUnused();
              throw new VerbsException("ibv_create_qp_ex", Errno.ENOMEM);
            },
            queuePair -> {});
    QueuePairBuilder builder =
        QueuePairBuilder.of(domain, QueuePairType.RC, maker).completions(queue);
    assertThrows(VerbsException.class, builder::create);
    assertFalse(domain.isOpen());
  }

  @DeviceTest
  void queuePairIsRefusedIfTheDeviceHasNoThreadDomainLeft() {
    List<ThreadDomain> all = new ArrayList<>();
    VerbsException none =
        assertThrows(
            VerbsException.class,
            () -> {
              while (all.size() < 10_000) {
                all.add(ThreadDomain.allocate(context));
              }
            });
    IllegalStateException e = assertThrows(IllegalStateException.class, () -> queuePair(domain));
    assertTrue(e.getMessage().contains("no doorbell register for it"), e.getMessage());
    assertTrue(e.getMessage().contains(none.function()), e.getMessage());
    all.getFirst().close();
    all.get(1).close();
    assertTrue(queuePair(domain).isDirect());
  }
}
