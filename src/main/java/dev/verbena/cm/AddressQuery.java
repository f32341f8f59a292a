package dev.verbena.cm;

import dev.verbena.NativeFlag;
import dev.verbena.RdmaTimeoutException;
import dev.verbena.VerbsException;
import dev.verbena.internal.Deadline;
import dev.verbena.internal.Explanation;
import dev.verbena.internal.Librdmacm;
import dev.verbena.internal.Providers;
import dev.verbena.internal.io.SocketAddresses;
import dev.verbena.internal.time.Time;
import dev.verbena.raw.rdma_addrinfo;
import dev.verbena.values.QueuePairType;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.net.InetSocketAddress;
import java.time.Duration;
import java.util.EnumSet;
import java.util.List;
import java.util.Objects;
import java.util.Set;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.FutureTask;
import java.util.concurrent.TimeoutException;
import org.jspecify.annotations.Nullable;

/**
 * A query for the addresses of a name: the arguments and hints of {@code rdma_getaddrinfo}. Hints
 * that are not set are zero.
 *
 * {@snippet :
 * AddressInfo server = AddressQuery.of("server", "7471").resolve(Duration.ofSeconds(5)).getFirst();
 * }
 */
public final class AddressQuery {
  private final String node;
  private final String service;
  private final Set<AddressInfo.Flag> flags = EnumSet.noneOf(AddressInfo.Flag.class);
  private int family;
  private QueuePairType queuePairType;
  private PortSpace portSpace;
  private InetSocketAddress source;
  private InetSocketAddress destination;

  private AddressQuery(@Nullable String node, @Nullable String service) {
    this.node = node;
    this.service = service;
  }

  /**
   * {@return a query for a host and a service}
   *
   * @param node a host name or a numeric address; null for none
   * @param service a service name or a port number; null for none
   */
  public static AddressQuery of(@Nullable String node, @Nullable String service) {
    if (node == null && service == null) {
      throw new IllegalArgumentException("node and service are null: at least one is required");
    }
    return new AddressQuery(node, service);
  }

  /**
   * {@return a query for the route to a known address}
   *
   * @param destination the peer's address
   */
  public static AddressQuery to(InetSocketAddress destination) {
    AddressQuery query = new AddressQuery(null, null);
    query.destination = Objects.requireNonNull(destination, "destination");
    return query;
  }

  /**
   * Adds a flag, such as {@link AddressInfo.Flag#PASSIVE} for an address to listen on.
   *
   * @param flag the flag
   * @return this
   */
  public AddressQuery flag(AddressInfo.Flag flag) {
    flags.add(flag);
    return this;
  }

  /**
   * Requests IPv4 addresses only.
   *
   * @return this
   */
  public AddressQuery ipv4() {
    family = SocketAddresses.AF_INET;
    return flag(AddressInfo.Flag.FAMILY);
  }

  /**
   * Requests IPv6 addresses only.
   *
   * @return this
   */
  public AddressQuery ipv6() {
    family = SocketAddresses.AF_INET6;
    return flag(AddressInfo.Flag.FAMILY);
  }

  /**
   * Sets the port space.
   *
   * @param space the port space
   * @return this
   */
  public AddressQuery portSpace(PortSpace space) {
    portSpace = Objects.requireNonNull(space, "space");
    return this;
  }

  /**
   * Sets the type of queue pair.
   *
   * @param type the queue pair type
   * @return this
   */
  public AddressQuery queuePairType(QueuePairType type) {
    queuePairType = Objects.requireNonNull(type, "type");
    return this;
  }

  /**
   * Sets the source address.
   *
   * @param address an address of this host
   * @return this
   */
  public AddressQuery source(InetSocketAddress address) {
    source = Objects.requireNonNull(address, "address");
    return this;
  }

  /**
   * Resolves the query: {@code rdma_getaddrinfo} and {@code rdma_freeaddrinfo}. The C function has
   * no timeout; when the timeout expires or the thread is interrupted, it continues in the
   * background and its result is discarded.
   *
   * @param timeout the maximum time to wait
   * @return the results, the preferred one first
   * @throws VerbsException ENOENT if there is no such name or no address of the requested family
   * @throws RdmaTimeoutException if the timeout expires
   * @throws InterruptedException if the thread is interrupted
   */
  public List<AddressInfo> resolve(Duration timeout) throws InterruptedException {
    long nanos = Deadline.after(timeout).remainingNanos();
    FutureTask<List<AddressInfo>> task = new FutureTask<>(this::resolve);
    Time.daemon().name("resolving " + this).start(task);
    try {
      return Time.get(task, nanos);
    } catch (TimeoutException e) {
      throw new RdmaTimeoutException("resolving " + this, timeout);
    } catch (ExecutionException e) {
      if (e.getCause() instanceof VerbsException failure) {
        throw Explanation.add(failure, "resolving " + this);
      }
      throw new IllegalStateException("resolving " + this, e.getCause());
    }
  }

  private List<AddressInfo> resolve() {
    Librdmacm rdmacm = Providers.system().rdmacm();
    try (Arena arena = Arena.ofConfined()) {
      MemorySegment result = arena.allocate(ValueLayout.JAVA_LONG);
      rdmacm.rdma_getaddrinfo(
          string(node, arena), string(service, arena), hints(arena), result.address());
      return copyAndFree(rdmacm, result);
    }
  }

  /**
   * Starts the resolution on an identifier: {@code rdma_resolve_addrinfo}; rdma-core 60. {@link
   * EventType#ADDRINFO_RESOLVED} or {@link EventType#ADDRINFO_ERROR} follows. The call waits for
   * name servers, but not for InfiniBand's subnet administrator.
   *
   * @param id the identifier that receives the event and holds the results until they are
   *     {@linkplain #takeFrom taken}
   */
  public void resolveOn(ConnectionId id) {
    try (Arena arena = Arena.ofConfined()) {
      // Not while holding the lock of the channel: name resolution may take long.
      id.callWithoutChannel(
          (rdmacm, pointer) ->
              rdmacm.rdma_resolve_addrinfo(
                  pointer, string(node, arena), string(service, arena), hints(arena)));
    } catch (VerbsException e) {
      throw Explanation.add(e, "resolving " + this);
    }
  }

  /**
   * {@return the results of a resolution on an identifier: {@code rdma_query_addrinfo}, once for
   * each {@link EventType#ADDRINFO_RESOLVED}; rdma-core 60}
   *
   * @param id the identifier that received the event
   * @throws VerbsException ENOENT if there are no new results
   */
  public static List<AddressInfo> takeFrom(ConnectionId id) {
    try (Arena arena = Arena.ofConfined()) {
      MemorySegment result = arena.allocate(ValueLayout.JAVA_LONG);
      id.nativeId()
          .call(
              "taking the results of address resolution",
              (rdmacm, pointer) -> rdmacm.rdma_query_addrinfo(pointer, result.address()));
      return copyAndFree(id.nativeId().rdmacm(), result);
    }
  }

  private static List<AddressInfo> copyAndFree(Librdmacm rdmacm, MemorySegment result) {
    long list = result.get(ValueLayout.JAVA_LONG, 0);
    try {
      return AddressInfo.copyAll(list);
    } finally {
      rdmacm.rdma_freeaddrinfo(list);
    }
  }

  private static long string(@Nullable String text, Arena arena) {
    return text == null ? 0 : arena.allocateFrom(text).address();
  }

  /** Returns the hints, or NULL if none was set. */
  private long hints(Arena arena) {
    boolean nothing =
        flags.isEmpty()
            && queuePairType == null
            && portSpace == null
            && source == null
            && destination == null;
    if (nothing) {
      return 0;
    }
    MemorySegment hints = rdma_addrinfo.allocate(arena);
    rdma_addrinfo.ai_flags(hints, (int) NativeFlag.mask(flags));
    rdma_addrinfo.ai_family(hints, family);
    rdma_addrinfo.ai_qp_type(hints, queuePairType == null ? 0 : queuePairType.code());
    rdma_addrinfo.ai_port_space(hints, portSpace == null ? 0 : portSpace.code());
    MemorySegment from = SocketAddresses.write(source, arena);
    rdma_addrinfo.ai_src_addr(hints, from);
    rdma_addrinfo.ai_src_len(hints, (int) from.byteSize());
    MemorySegment to = SocketAddresses.write(destination, arena);
    rdma_addrinfo.ai_dst_addr(hints, to);
    rdma_addrinfo.ai_dst_len(hints, (int) to.byteSize());
    return hints.address();
  }

  @Override
  public String toString() {
    return destination != null
        ? destination.toString()
        : (node == null ? "*" : node) + (service == null ? "" : ":" + service);
  }
}
