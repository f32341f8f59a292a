package dev.verbena.internal.access;

import dev.verbena.internal.Provider;
import dev.verbena.verbs.AddressVector;
import dev.verbena.verbs.CompletionCursor;
import dev.verbena.verbs.CompletionField;
import dev.verbena.verbs.CompletionQueue;
import dev.verbena.verbs.Context;
import dev.verbena.verbs.ExtendedCompletionQueue;
import dev.verbena.verbs.ProtectionDomain;
import dev.verbena.verbs.QueuePair;
import dev.verbena.verbs.QueuePairAttributes;
import dev.verbena.verbs.QueuePairBuilder;
import dev.verbena.verbs.QueuePairCapacity;
import dev.verbena.verbs.QueuePairType;
import dev.verbena.verbs.Resource;
import dev.verbena.verbs.SharedReceiveQueue;
import dev.verbena.verbs.Verbena;
import dev.verbena.verbs.WorkRequestException;
import java.lang.foreign.MemorySegment;
import java.util.List;
import java.util.Optional;
import java.util.function.Function;
import java.util.function.LongUnaryOperator;
import java.util.function.Supplier;

/**
 * What other packages of this library do with objects of {@code dev.verbena.verbs} and programs
 * cannot: create resources of their own, and wrap or read structs that librdmacm filled. The
 * implementation registers itself when {@link Verbena} is initialised.
 */
public abstract class VerbsAccess {
  private static volatile VerbsAccess instance;

  /** Creates the implementation. */
  protected VerbsAccess() {}

  /**
   * Returns the implementation.
   *
   * @return the implementation
   */
  public static VerbsAccess get() {
    if (instance == null) {
      try {
        Class.forName(Verbena.class.getName());
      } catch (ClassNotFoundException e) {
        throw new AssertionError(e);
      }
    }
    return instance;
  }

  /**
   * Registers the implementation.
   *
   * @param access the implementation
   */
  public static void set(VerbsAccess access) {
    instance = access;
  }

  /** Creates and destroys a queue with the functions of another C library. */
  public interface Maker {
    /**
     * Creates the queue.
     *
     * @param attributes the attributes of the queue in the extended struct; values that the
     *     function changes in it are used
     * @return the C struct of the queue
     */
    MemorySegment create(MemorySegment attributes);

    /** Destroys the queue; throws an exception if that fails. */
    void destroy();
  }

  /**
   * Returns the resource of an object of another package, which is not part of a {@link #make} yet.
   *
   * @param address the address of the C object
   * @param release destroys the C object; throws an exception if that fails
   * @param beforeClose ends the waits of all threads, or throws an exception if the object cannot
   *     be closed while a thread uses it
   * @param owner the object, whose string names it in messages
   * @return the resource
   */
  public abstract Resource resource(
      long address, Runnable release, Runnable beforeClose, Object owner);

  /**
   * Creates an object on others, which cannot be closed meanwhile and close it later.
   *
   * @param <T> the type of the object
   * @param parents the resources that must be closed after the new one
   * @param maker calls the C function and creates the object
   * @param resource returns the resource of the object
   * @return the object
   * @throws IllegalStateException if a parent is closed; nothing is created
   */
  public abstract <T> T make(
      List<? extends Resource> parents, Supplier<T> maker, Function<T, Resource> resource);

  /**
   * Changes the parents of a resource.
   *
   * @param resource the resource
   * @param parents the resources that must be closed after it from now on
   * @throws IllegalStateException if it or one of the parents is closed; nothing is changed
   */
  public abstract void moveTo(Resource resource, Resource... parents);

  /**
   * Returns whether memory is registered with a domain.
   *
   * @param domain the domain
   * @return true if a region is open
   */
  public abstract boolean hasRegions(ProtectionDomain domain);

  /**
   * Calls C with a resource, which cannot be closed during the call.
   *
   * @param resource the resource
   * @param call the call
   * @throws IllegalStateException if the resource is closed
   */
  public abstract void whileOpen(Resource resource, Runnable call);

  /**
   * Throws if an object belongs to another context than those which it is used with.
   *
   * @param context the context
   * @param object the object
   * @param its the context of the object
   * @throws IllegalArgumentException if the two contexts differ
   */
  public abstract void requireOwn(Context context, Object object, Context its);

  /**
   * Returns whether objects of two protection domains can be used together.
   *
   * @param domain a domain
   * @param other another object for the same domain, its parent domain, or a different one
   * @return whether they can
   */
  public abstract boolean isOneWith(ProtectionDomain domain, ProtectionDomain other);

  /**
   * Returns the context of a device that librdmacm opened and closes. Its fatal asynchronous events
   * are logged.
   *
   * @param struct the {@code struct ibv_context}, a segment of any length
   * @param closed is called when the context was closed
   * @return the context
   */
  public abstract Context context(MemorySegment struct, Runnable closed);

  /**
   * Closes a context as soon as no object of it is open.
   *
   * @param context the context of a device that was removed
   */
  public abstract void closeWhenUnused(Context context);

  /**
   * Returns a protection domain that librdmacm allocated and deallocates.
   *
   * @param context the context of the domain
   * @param owner a resource that must be closed after the domain
   * @param struct the {@code struct ibv_pd}, a segment of any length
   * @return the domain
   */
  public abstract ProtectionDomain domain(Context context, Resource owner, MemorySegment struct);

  /**
   * Returns a completion queue that librdmacm created and destroys, with its channel.
   *
   * @param context the context of the queue
   * @param channel the {@code struct ibv_comp_channel}, a segment of any length
   * @param struct the {@code struct ibv_cq}, a segment of any length
   * @return the queue
   */
  public abstract CompletionQueue completionQueue(
      Context context, MemorySegment channel, MemorySegment struct);

  /**
   * Returns a queue pair that librdmacm created.
   *
   * @param domain the protection domain of the queue pair
   * @param struct the {@code struct ibv_qp}, a segment of any length
   * @param capacity the capacity of its queues
   * @param release destroys the queue pair; throws an exception if that fails
   * @param parents the objects that must be closed after the queue pair
   * @return the queue pair
   */
  public abstract QueuePair queuePair(
      ProtectionDomain domain,
      MemorySegment struct,
      QueuePairCapacity capacity,
      Runnable release,
      Resource... parents);

  /**
   * Creates a queue pair with another function than {@code ibv_create_qp_ex}.
   *
   * @param builder the settings of the queue pair
   * @param context the context that the function creates it on, to which the settings must belong
   * @param owner a resource that must be closed after it
   * @param maker creates it from a {@code struct ibv_qp_init_attr_ex} and destroys it
   * @return the queue pair
   */
  public abstract QueuePair create(
      QueuePairBuilder builder, Context context, Resource owner, Maker maker);

  /**
   * Creates a shared receive queue with another function than {@code ibv_create_srq_ex}.
   *
   * @param builder the settings of the queue
   * @param context the context that the function creates it on, to which the settings must belong
   * @param owner a resource that must be closed after it
   * @param maker creates it from a {@code struct ibv_srq_init_attr_ex} and destroys it
   * @return the queue
   */
  public abstract SharedReceiveQueue create(
      SharedReceiveQueue.Builder builder, Context context, Resource owner, Maker maker);

  /**
   * Returns a builder of a queue pair that a provider library creates.
   *
   * @param domain the protection domain
   * @param type the transport service
   * @param creation creates the queue pair from the address of a {@code struct ibv_qp_init_attr_ex}
   *     and returns the address of the {@code struct ibv_qp}
   * @return the builder
   */
  public abstract QueuePairBuilder builder(
      ProtectionDomain domain, QueuePairType type, LongUnaryOperator creation);

  /**
   * Creates an extended completion queue with a function of a provider library.
   *
   * @param builder the settings of the queue
   * @param creation creates the queue from the address of a {@code struct ibv_cq_init_attr_ex} and
   *     returns the address of the {@code struct ibv_cq_ex}
   * @param fields the fields of its completions
   * @return the queue
   */
  public abstract ExtendedCompletionQueue create(
      CompletionQueue.Builder builder, LongUnaryOperator creation, CompletionField... fields);

  /**
   * Returns the provider that created a context.
   *
   * @param context the context
   * @return the provider
   */
  public abstract Provider provider(Context context);

  /**
   * Returns the {@code struct ibv_device} of a context.
   *
   * @param context the context
   * @return the address
   */
  public abstract long device(Context context);

  /**
   * Throws unless this thread has a cursor open that is at a completion of a queue.
   *
   * @param cursor the cursor
   * @param queue the queue
   */
  public abstract void requireAtCompletion(CompletionCursor cursor, ExtendedCompletionQueue queue);

  /**
   * Returns the failure of a work request as the reason of another operation, which it prevents.
   *
   * @param failure the failure
   * @param doing the other operation
   * @return an exception with the failure as its cause
   */
  public abstract WorkRequestException during(WorkRequestException failure, String doing);

  /**
   * Reads a capacity.
   *
   * @param cap a {@code struct ibv_qp_cap}
   * @return the capacity
   */
  public abstract QueuePairCapacity readCapacity(MemorySegment cap);

  /**
   * Writes a capacity.
   *
   * @param capacity the capacity
   * @param cap a {@code struct ibv_qp_cap}
   */
  public abstract void write(QueuePairCapacity capacity, MemorySegment cap);

  /**
   * Reads an address vector.
   *
   * @param attributes a {@code struct ibv_ah_attr}
   * @return the path; empty if the struct contains no port
   */
  public abstract Optional<AddressVector> readPath(MemorySegment attributes);

  /**
   * Copies attributes of a queue pair.
   *
   * @param struct a {@code struct ibv_qp_attr}
   * @param mask the attribute mask, {@code enum ibv_qp_attr_mask}
   * @return the attributes
   */
  public abstract QueuePairAttributes copy(MemorySegment struct, int mask);
}
