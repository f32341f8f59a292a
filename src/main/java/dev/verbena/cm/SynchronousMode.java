package dev.verbena.cm;

import dev.verbena.VerbsException;
import dev.verbena.internal.Librdmacm;
import dev.verbena.internal.Provider;
import dev.verbena.verbs.ProtectionDomain;
import dev.verbena.verbs.QueuePairCapacity;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.util.Objects;
import org.jspecify.annotations.Nullable;

/**
 * librdmacm's synchronous mode: an identifier without an event channel, whose operations wait in C
 * for their outcome, with no end but the outcome, and fail with the errno that librdmacm makes of
 * the event. {@link Endpoint} waits better.
 *
 * <p>Nothing wakes a thread that waits in C: closing the identifier meanwhile is refused with an
 * {@link IllegalStateException}, and so are closing what it was made on, and a call by another
 * thread on the same identifier.
 */
public final class SynchronousMode {
  private SynchronousMode() {}

  /**
   * Makes an identifier in synchronous mode: {@code rdma_create_id} without a channel.
   *
   * @param portSpace the kind of service
   * @return an identifier, to be closed
   */
  public static ConnectionId createId(PortSpace portSpace) {
    return createId(Provider.system().rdmacm(), portSpace);
  }

  static ConnectionId createId(Librdmacm rdmacm, PortSpace portSpace) {
    long address = ConnectionId.newId(rdmacm, 0, Objects.requireNonNull(portSpace, "portSpace"));
    return ConnectionId.synchronous(new NativeId(rdmacm, address, null, false), null, null);
  }

  /**
   * Makes an identifier in synchronous mode, ready to connect or to listen, from what a name was
   * resolved to: {@code rdma_create_ep}.
   *
   * @param info the address, and what it is for
   * @param domain the domain of the queue pair; null for librdmacm's own
   * @param capacity how much the queue pair must hold, of a listener's each request; null for no
   *     queue pair
   * @return an identifier, to be closed
   * @throws VerbsException what became of the address or route
   */
  public static ConnectionId createEndpoint(
      AddressInfo info, @Nullable ProtectionDomain domain, @Nullable QueuePairCapacity capacity) {
    Librdmacm rdmacm = Provider.system().rdmacm();
    try (Arena arena = Arena.ofConfined()) {
      MemorySegment attr =
          capacity == null ? MemorySegment.NULL : ConnectionQueues.attributes(arena, capacity);
      MemorySegment pointer = arena.allocate(ValueLayout.JAVA_LONG);
      long pd = domain == null ? 0 : domain.segment().address();
      try {
        rdmacm.rdma_create_ep(pointer.address(), info.write(arena).address(), pd, attr.address());
      } catch (VerbsException e) {
        throw e.explained("making an endpoint " + info);
      }
      long address = pointer.get(ValueLayout.JAVA_LONG, 0);
      return ConnectionId.synchronous(new NativeId(rdmacm, address, null, true), domain, capacity);
    }
  }
}
