package dev.verbena.cm;

import dev.verbena.VerbsException;
import dev.verbena.internal.Explanation;
import dev.verbena.internal.Librdmacm;
import dev.verbena.internal.Providers;
import dev.verbena.internal.foreign.AfterFailure;
import dev.verbena.values.QueuePairCapacity;
import dev.verbena.verbs.ProtectionDomain;
import dev.verbena.verbs.QueuePair;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.util.Objects;
import org.jspecify.annotations.Nullable;

/**
 * librdmacm's synchronous mode: identifiers without an event channel. Their operations block inside
 * librdmacm until the event arrives, without a timeout, and fail with the errno that librdmacm
 * derives from the event. {@link Endpoint} has timeouts and can be interrupted.
 *
 * <p>A thread that blocks inside librdmacm cannot be woken: meanwhile, closing the identifier or
 * its parents and calls of other threads on the identifier throw {@link IllegalStateException}.
 */
public final class SynchronousMode {
  private SynchronousMode() {}

  /**
   * Creates an identifier in synchronous mode: {@code rdma_create_id} without a channel.
   *
   * @param portSpace the port space
   * @return the identifier, to be closed by the caller
   */
  public static ConnectionId createId(PortSpace portSpace) {
    return createId(Providers.system().rdmacm(), portSpace);
  }

  static ConnectionId createId(Librdmacm rdmacm, PortSpace portSpace) {
    long address = ConnectionId.newId(rdmacm, 0, Objects.requireNonNull(portSpace, "portSpace"));
    return ConnectionId.synchronous(new NativeId(rdmacm, address, null, false), null, null);
  }

  /**
   * Creates an identifier in synchronous mode, ready to connect or to listen, from the result of an
   * address resolution: {@code rdma_create_ep}.
   *
   * @param info the address, to connect to or to listen on
   * @param domain the protection domain of the queue pair, of the {@linkplain ConnectionId#context
   *     context} that librdmacm opened for the device; null for librdmacm's default
   * @param capacity the capacity of the queue pair, for a listener of each request; null to create
   *     none
   * @return the identifier, to be closed by the caller
   * @throws IllegalArgumentException if the protection domain is of another context
   * @throws VerbsException if the address or the route cannot be resolved
   */
  public static ConnectionId createEndpoint(
      AddressInfo info, @Nullable ProtectionDomain domain, @Nullable QueuePairCapacity capacity) {
    Librdmacm rdmacm =
        Providers.reaching(info.source().orElse(null), info.destination().orElse(null)).rdmacm();
    try (Arena arena = Arena.ofConfined()) {
      // librdmacm creates the queue pairs of requests; that of an active side is created below, when
      // the device is known.
      boolean passive = info.isPassive();
      MemorySegment attr =
          passive && capacity != null
              ? ConnectionQueues.attributes(arena, capacity)
              : MemorySegment.NULL;
      long pd = passive && domain != null ? domain.segment().address() : 0;
      MemorySegment pointer = arena.allocate(ValueLayout.JAVA_LONG);
      try {
        rdmacm.rdma_create_ep(pointer.address(), info.write(arena).address(), pd, attr.address());
      } catch (VerbsException e) {
        throw Explanation.add(e, "creating an endpoint " + info);
      }
      long address = pointer.get(ValueLayout.JAVA_LONG, 0);
      ConnectionId id =
          ConnectionId.synchronous(new NativeId(rdmacm, address, null, true), domain, capacity);
      try {
        if (domain != null && id.hasDevice()) {
          ProtectionDomain _ = id.domain(); // Throws if it is of another context.
        }
        if (!passive && capacity != null) {
          QueuePair _ = id.queues().createQueuePair(capacity);
        }
        return id;
      } catch (Throwable t) {
        AfterFailure.close(t, id::close);
        throw t;
      }
    }
  }
}
