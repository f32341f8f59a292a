package dev.verbena.verbs;

import dev.verbena.internal.Memory;
import dev.verbena.internal.Provider;
import dev.verbena.internal.Providers;
import dev.verbena.internal.access.VerbsAccess;
import dev.verbena.raw.ibv_context;
import java.lang.foreign.MemorySegment;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.atomic.AtomicReference;
import java.util.function.Function;
import java.util.function.LongUnaryOperator;
import java.util.function.Supplier;

/** The access of other packages of this library to this one. */
final class Access extends VerbsAccess {
  /** The resource of an object of another package. */
  private static final class Foreign extends Resource {
    private final Runnable beforeClose;
    private final Object owner;

    Foreign(long address, Runnable release, Runnable beforeClose, Object owner) {
      super(address, release);
      this.beforeClose = beforeClose;
      this.owner = owner;
    }

    @Override
    void beforeClose() {
      beforeClose.run();
    }

    @Override
    public String toString() {
      return owner.toString();
    }
  }

  @Override
  public Resource resource(long address, Runnable release, Runnable beforeClose, Object owner) {
    return new Foreign(address, release, beforeClose, owner);
  }

  @Override
  public <T> T make(
      List<? extends Resource> parents, Supplier<T> maker, Function<T, Resource> resource) {
    AtomicReference<T> made = new AtomicReference<>();
    Resource.make(
        parents,
        () -> {
          made.set(maker.get());
          return resource.apply(made.get());
        });
    return made.get();
  }

  @Override
  public boolean hasRegions(ProtectionDomain domain) {
    return !domain.children(MemoryRegion.class).isEmpty();
  }

  @Override
  public void moveTo(Resource resource, Resource... parents) {
    resource.moveTo(parents);
  }

  @Override
  public void whileOpen(Resource resource, Runnable call) {
    resource.whileOpen(call);
  }

  @Override
  public void requireOwn(Context context, Object object, Context its) {
    context.requireOwn(object, its);
  }

  @Override
  public boolean isOneWith(ProtectionDomain domain, ProtectionDomain other) {
    return domain.isOneWith(other);
  }

  @Override
  public Context context(MemorySegment struct, Runnable closed) {
    Context context = Context.borrow(Providers.ofContext(struct.address()), struct, closed);
    context.asyncEvents().logUnhandled(); // librdmacm does not read them.
    return context;
  }

  @Override
  public void closeWhenUnused(Context context) {
    context.closeWhenUnused();
  }

  @Override
  public ProtectionDomain domain(Context context, Resource owner, MemorySegment struct) {
    return ProtectionDomain.of(context, owner, struct);
  }

  @Override
  public CompletionQueue completionQueue(
      Context context, MemorySegment channel, MemorySegment struct) {
    return CompletionQueue.of(CompletionChannel.of(context, channel), struct);
  }

  @Override
  public QueuePair queuePair(
      ProtectionDomain domain,
      MemorySegment struct,
      QueuePairCapacity capacity,
      Runnable release,
      Resource... parents) {
    return QueuePair.adopt(domain, struct, capacity, release, parents);
  }

  @Override
  public QueuePair create(QueuePairBuilder builder, Context context, Resource owner, Maker maker) {
    return builder.create(context, owner, maker);
  }

  @Override
  public SharedReceiveQueue create(
      SharedReceiveQueue.Builder builder, Context context, Resource owner, Maker maker) {
    return builder.create(context, owner, maker);
  }

  @Override
  public QueuePairBuilder builder(
      ProtectionDomain domain, QueuePairType type, LongUnaryOperator creation) {
    return new QueuePairBuilder(domain, null, type, creation);
  }

  @Override
  public ExtendedCompletionQueue create(
      CompletionQueue.Builder builder, LongUnaryOperator creation, CompletionField... fields) {
    return builder.createExtended(creation, fields);
  }

  @Override
  public Provider provider(Context context) {
    return context.provider();
  }

  @Override
  public long device(Context context) {
    return Memory.getLong(context.address() + ibv_context.device$offset());
  }

  @Override
  public void requireAtCompletion(CompletionCursor cursor, ExtendedCompletionQueue queue) {
    cursor.requireAtCompletion(queue);
  }

  @Override
  public WorkRequestException during(WorkRequestException failure, String doing) {
    return failure.during(doing);
  }

  @Override
  public QueuePairCapacity readCapacity(MemorySegment cap) {
    return QueuePairCapacity.readFrom(cap);
  }

  @Override
  public void write(QueuePairCapacity capacity, MemorySegment cap) {
    capacity.writeTo(cap);
  }

  @Override
  public Optional<AddressVector> readPath(MemorySegment attributes) {
    return AddressVector.readFrom(attributes);
  }

  @Override
  public QueuePairAttributes copy(MemorySegment struct, int mask) {
    return QueuePairAttributes.copyOf(struct, mask);
  }
}
