package dev.verbena.verbs;

import static dev.verbena.testing.DeviceKind.SOFT_ROCE;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertSame;
import static org.junit.jupiter.api.Assertions.assertThrows;

import dev.verbena.raw.ibv_cq_init_attr_ex;
import dev.verbena.raw.ibv_parent_domain_init_attr;
import dev.verbena.raw.ibv_td;
import dev.verbena.testing.DeviceTest;
import dev.verbena.testing.On;
import dev.verbena.testing.Rig;
import java.lang.foreign.MemorySegment;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import org.junit.jupiter.api.Test;

/** Parent domains and thread domains: on a fake, and on Soft-RoCE, which has none. */
class ParentDomainTest extends FakeDeviceFixture {
  public long alloc_td(long context, long attributes) {
    return made(ibv_td.layout(), context);
  }

  public int dealloc_td(long td) {
    return gone();
  }

  public long alloc_parent_domain(long context, long attributes) {
    attr = copied(attributes, ibv_parent_domain_init_attr.sizeof());
    return provider.verbs().ibv_alloc_pd(context);
  }

  public long create_cq_ex(long context, long attributes) {
    attr = copied(attributes, ibv_cq_init_attr_ex.sizeof());
    return provider.verbs().ibv_create_cq(context, ibv_cq_init_attr_ex.cqe(attr), 0, 0, 0);
  }

  @Test
  void parentDomainsHaveAThreadDomainAndAllocators() {
    ThreadDomain thread = ThreadDomain.allocate(context);
    List<String> calls = new ArrayList<>();
    MemorySegment memory = arena.allocate(4096, 4096);
    ProviderAllocator allocator =
        new ProviderAllocator() {
          @Override
          public MemorySegment allocate(long size, long alignment, long resource) {
            calls.add("allocate " + size + " " + alignment + " " + resource);
            return size == 1 ? null : memory;
          }

          @Override
          public void free(MemorySegment freed, long resource) {
            assertSame(memory, freed);
            calls.add("free " + resource);
          }
        };
    ParentDomain parent =
        ParentDomain.builder(pd)
            .threadDomain(thread)
            .allocator(allocator)
            .allowUnprotectedMemory()
            .create();
    assertSame(pd, parent.base());
    assertEquals(Optional.of(thread), parent.threadDomain());
    assertEquals(pd.segment().address(), ibv_parent_domain_init_attr.pd(attr).address());
    assertEquals(thread.segment().address(), ibv_parent_domain_init_attr.td(attr).address());
    assertEquals(5, ibv_parent_domain_init_attr.comp_mask(attr));
    MemorySegment alloc = ibv_parent_domain_init_attr.alloc(attr);
    MemorySegment none = MemorySegment.NULL;
    assertEquals(
        -1, ibv_parent_domain_init_attr.alloc.invoke(alloc, none, none, 1, 1, 7).address());
    assertEquals(
        memory.address(),
        ibv_parent_domain_init_attr.alloc.invoke(alloc, none, none, 4096, 4096, 7).address());
    ibv_parent_domain_init_attr.free.invoke(
        ibv_parent_domain_init_attr.free(attr), none, none, memory, 7);
    assertEquals(List.of("allocate 1 1 7", "allocate 4096 4096 7", "free 7"), calls);
    CompletionQueue cq = context.completionQueue(4).parentDomain(parent).create();
    assertEquals(parent.segment().address(), ibv_cq_init_attr_ex.parent_domain(attr).address());
    cq.close();
  }

  @Test
  void anAllocatorThatFailsDoesNotEndTheJvm() {
    List<Throwable> uncaught = new ArrayList<>();
    Thread thread = Thread.currentThread();
    Thread.UncaughtExceptionHandler before = thread.getUncaughtExceptionHandler();
    thread.setUncaughtExceptionHandler((t, e) -> uncaught.add(e));
    try {
      ParentDomain.builder(pd)
          .allocator(
              new ProviderAllocator() {
                @Override
                public MemorySegment allocate(long size, long alignment, long resource) {
                  return arena.allocate(1);
                }

                @Override
                public void free(MemorySegment memory, long resource) {}
              })
          .create();
      MemorySegment none = MemorySegment.NULL;
      MemorySegment alloc = ibv_parent_domain_init_attr.alloc(attr);
      assertEquals(
          0, ibv_parent_domain_init_attr.alloc.invoke(alloc, none, none, 64, 8, 7).address());
      ibv_parent_domain_init_attr.free.invoke(
          ibv_parent_domain_init_attr.free(attr), none, none, none, 7);
      assertEquals(2, uncaught.size(), "too little memory, and memory that was never given");
    } finally {
      thread.setUncaughtExceptionHandler(before);
    }
  }

  @Test
  void anUncaughtExceptionHandlerThatFailsDoesNotEndTheJvm() {
    Thread thread = Thread.currentThread();
    Thread.UncaughtExceptionHandler before = thread.getUncaughtExceptionHandler();
    List<Throwable> uncaught = new ArrayList<>();
    thread.setUncaughtExceptionHandler(
        (t, e) -> {
          uncaught.add(e);
          throw new IllegalStateException("on purpose");
        });
    try {
      ParentDomain.builder(pd).allocator(new UnusedAllocator()).create();
      MemorySegment none = MemorySegment.NULL;
      MemorySegment alloc = ibv_parent_domain_init_attr.alloc(attr);
      assertEquals(
          0, ibv_parent_domain_init_attr.alloc.invoke(alloc, none, none, 64, 8, 7).address());
      ibv_parent_domain_init_attr.free.invoke(
          ibv_parent_domain_init_attr.free(attr), none, none, none, 7);
      assertEquals(2, uncaught.size());
    } finally {
      thread.setUncaughtExceptionHandler(before);
    }
  }

  @Test
  void nothingIsAllocatedForADomainThatCannotBeMade() {
    ThreadDomain thread = ThreadDomain.allocate(context);
    ParentDomain.Builder builder =
        ParentDomain.builder(pd).threadDomain(thread).allocator(new UnusedAllocator());
    attr = null;
    thread.close();
    assertThrows(IllegalStateException.class, builder::create);
    assertNull(attr, "C was not called");
    ParentDomain.Builder other = ParentDomain.builder(pd).allocator(new UnusedAllocator());
    pd.close();
    assertThrows(IllegalStateException.class, other::create);
    assertNull(attr, "C was not called");
  }

  @DeviceTest
  @On(SOFT_ROCE)
  void softRoceHasNoParentDomains() {
    try (Context context = Rig.a().open()) {
      ProtectionDomain pd = context.allocateProtectionDomain();
      Refusal.of(() -> ThreadDomain.allocate(context), "thread domains");
      Refusal.of(() -> ParentDomain.builder(pd).create(), "parent domains");
      Refusal.of(
          () ->
              ParentDomain.builder(pd)
                  .allocator(new UnusedAllocator())
                  .allowUnprotectedMemory()
                  .create(),
          "parent domains");
      pd.close();
      assertThrows(IllegalStateException.class, () -> ParentDomain.builder(pd));
    }
  }

  private static final class UnusedAllocator implements ProviderAllocator {
    @Override
    public MemorySegment allocate(long size, long alignment, long resource) {
      throw new AssertionError("there is no parent domain");
    }

    @Override
    public void free(MemorySegment memory, long resource) {
      throw new AssertionError("there is no parent domain");
    }
  }
}
