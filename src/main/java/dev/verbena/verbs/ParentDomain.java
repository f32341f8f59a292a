package dev.verbena.verbs;

import dev.verbena.VerbsException;
import dev.verbena.internal.Explanation;
import dev.verbena.internal.life.Core;
import dev.verbena.internal.life.ObjectText;
import dev.verbena.raw.ibv_parent_domain_init_attr;
import dev.verbena.raw.rdma_h;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.util.Objects;
import java.util.Optional;
import java.util.concurrent.ConcurrentHashMap;
import java.util.stream.Stream;

/**
 * A parent domain: a protection domain over another one, with a thread domain or memory allocators
 * ({@code ibv_alloc_parent_domain}). It can be used like any protection domain.
 *
 * {@snippet :
 * ParentDomain domain =
 *     ParentDomain.builder(pd).threadDomain(ThreadDomain.allocate(context)).create();
 * }
 *
 * <p>Closing it calls {@code ibv_dealloc_pd}. See {@code ibv_alloc_parent_domain(3)}.
 */
public final class ParentDomain extends ProtectionDomain {
  private final ProtectionDomain base;
  private final ThreadDomain threadDomain;

  /** That it was created with. */
  private final MemorySegment attributes;

  private ParentDomain(
      ProtectionDomain base, ThreadDomain threadDomain, MemorySegment attributes, Core core) {
    super(base.context(), core, base.root());
    this.base = base;
    this.threadDomain = threadDomain;
    this.attributes = attributes;
  }

  /**
   * {@return a builder of a parent domain of a protection domain}
   *
   * @param base the protection domain
   */
  public static Builder builder(ProtectionDomain base) {
    base.core.requireOpen();
    return new Builder(base);
  }

  /** A builder of a parent domain. */
  public static final class Builder {
    private final ProtectionDomain base;
    private ThreadDomain threadDomain;
    private ProviderAllocator allocator;
    private int mask;

    private Builder(ProtectionDomain base) {
      this.base = base;
    }

    /**
     * Sets the thread domain: only one thread at a time uses the objects that are created on the
     * parent domain.
     *
     * @param domain a thread domain of the same context
     * @return this
     */
    public Builder threadDomain(ThreadDomain domain) {
      Core.requireSame(base.context(), domain, domain.context());
      this.threadDomain = domain;
      return this;
    }

    /**
     * Sets the allocator of the memory of queues that are created on the parent domain.
     *
     * @param allocator the allocator
     * @return this
     */
    public Builder allocator(ProviderAllocator allocator) {
      this.allocator = Objects.requireNonNull(allocator, "allocator");
      mask |= rdma_h.IBV_PARENT_DOMAIN_INIT_ATTR_ALLOCATORS();
      return this;
    }

    /**
     * Allows the provider to use memory that is shared with the host, in a confidential virtual
     * machine: {@code IBV_PARENT_DOMAIN_INIT_ATTR_ALLOW_CC_UNPROTECTED_ALLOC}.
     *
     * @return this
     */
    public Builder allowUnprotectedMemory() {
      mask |= rdma_h.IBV_PARENT_DOMAIN_INIT_ATTR_ALLOW_CC_UNPROTECTED_ALLOC();
      return this;
    }

    /**
     * Creates the parent domain: {@code ibv_alloc_parent_domain}.
     *
     * @return the domain, to be closed
     */
    public ParentDomain create() {
      Arena upcalls = Arena.ofShared();
      try {
        MemorySegment attr = ibv_parent_domain_init_attr.allocate(upcalls);
        return Core.make(
            Stream.<Resource>of(base, threadDomain).filter(Objects::nonNull).toList(),
            () -> allocate(attr, upcalls),
            base.verbs()::ibv_dealloc_pd,
            core -> {
              core.wrapDestruction(
                  deallocate -> {
                    deallocate.run();
                    upcalls.close();
                  });
              return new ParentDomain(base, threadDomain, attr, core);
            });
      } catch (Throwable t) {
        if (upcalls.scope().isAlive()) {
          upcalls.close();
        }
        throw t;
      }
    }

    private long allocate(MemorySegment attr, Arena upcalls) {
      try {
        ibv_parent_domain_init_attr.pd(attr, base.segment());
        ibv_parent_domain_init_attr.comp_mask(attr, mask);
        if (threadDomain != null) {
          ibv_parent_domain_init_attr.td(attr, threadDomain.segment());
        }
        if (allocator != null) {
          new Upcalls(allocator).writeTo(attr, upcalls);
        }
        return base.verbs().ibv_alloc_parent_domain(base.context().address(), attr.address());
      } catch (VerbsException e) {
        throw Explanation.addIfUnsupported(
            e,
            base.context().device()
                + " does not support parent domains, or not with these options");
      }
    }
  }

  /** The functions that C calls. They must not throw exceptions into C, which would end the JVM. */
  private static final class Upcalls {
    private static final MemorySegment USE_DEFAULT = MemorySegment.ofAddress(-1);

    private final ProviderAllocator allocator;
    private final ConcurrentHashMap<Long, MemorySegment> allocated = new ConcurrentHashMap<>();

    Upcalls(ProviderAllocator allocator) {
      this.allocator = allocator;
    }

    void writeTo(MemorySegment attr, Arena arena) {
      ibv_parent_domain_init_attr.alloc(
          attr,
          ibv_parent_domain_init_attr.alloc.allocate(
              (pd, context, size, alignment, resource) -> allocate(size, alignment, resource),
              arena));
      ibv_parent_domain_init_attr.free(
          attr,
          ibv_parent_domain_init_attr.free.allocate(
              (pd, context, memory, resource) -> free(memory, resource), arena));
    }

    private MemorySegment allocate(long size, long alignment, long resource) {
      try {
        MemorySegment memory = allocator.allocate(size, alignment, resource);
        if (memory == null) {
          return USE_DEFAULT;
        }
        if (!memory.isNative()
            || memory.byteSize() < size
            || Long.remainderUnsigned(memory.address(), Math.max(1, alignment)) != 0) {
          throw new IllegalStateException(
              "%s returned %s for %s bytes aligned to %s"
                  .formatted(allocator, memory, size, alignment));
        }
        allocated.put(memory.address(), memory);
        return MemorySegment.ofAddress(memory.address());
      } catch (Throwable t) {
        report(t);
        return MemorySegment.NULL;
      }
    }

    private void free(MemorySegment address, long resource) {
      try {
        MemorySegment memory = allocated.remove(address.address());
        if (memory == null) {
          throw new IllegalStateException(
              "the provider frees memory that was not allocated: " + address);
        }
        allocator.free(memory, resource);
      } catch (Throwable t) {
        report(t);
      }
    }

    private static void report(Throwable t) {
      Thread thread = Thread.currentThread();
      try {
        thread.getUncaughtExceptionHandler().uncaughtException(thread, t);
      } catch (Throwable ofHandler) {
        // Ignored, as the JVM ignores exceptions of uncaught exception handlers.
      }
    }
  }

  /**
   * Returns the protection domain under this one.
   *
   * @return the protection domain, whose objects can be used together with those of this one
   */
  public ProtectionDomain base() {
    return base;
  }

  /**
   * Returns the thread domain.
   *
   * @return the thread domain, or empty if there is none
   */
  public Optional<ThreadDomain> threadDomain() {
    return Optional.ofNullable(threadDomain);
  }

  @Override
  void setAllocator(MemorySegment attr) {
    attr.copyFrom(attributes);
  }

  @Override
  boolean hasThreadDomain() {
    return threadDomain != null;
  }

  @Override
  public String toString() {
    return ObjectText.of(core, "parent domain of " + base.core);
  }
}
