package dev.verbena.cm;

import dev.verbena.VerbsException;
import dev.verbena.internal.io.SocketAddresses;
import dev.verbena.raw.rdma_cm_join_mc_attr_ex;
import dev.verbena.raw.rdma_h;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.net.InetSocketAddress;

/**
 * Operations on the multicast groups of an identifier: {@link ConnectionId#multicast()}.
 *
 * <p>To join a group, the identifier must have a device. Joining attaches the identifier's queue
 * pair, if it has one, to the group. The {@link EventType#MULTICAST_JOIN} event contains the
 * parameters to send to the group. Closing the queue pair or the identifier leaves all groups.
 */
public final class Multicast {
  private final NativeId id;

  Multicast(NativeId id) {
    this.id = id;
  }

  /**
   * Joins a group as full member, to send and receive: {@code rdma_join_multicast}. {@link
   * EventType#MULTICAST_JOIN} or {@link EventType#MULTICAST_ERROR} follows.
   *
   * @param group the address of the group; the port is ignored
   * @param context a number, returned as the {@link ConnectionEvent#argument} of the events
   * @throws IllegalStateException if the identifier is not bound to a device
   * @throws VerbsException if the transport does not support the group: over RoCE v2, Linux
   *     supports IPv4 groups only
   */
  public void join(InetSocketAddress group, long context) {
    id.requireDevice();
    try (Arena arena = Arena.ofConfined()) {
      long address = write(group, arena).address();
      join(group, (rdmacm, pointer) -> rdmacm.rdma_join_multicast(pointer, address, context));
    }
  }

  /**
   * Joins a group: {@code rdma_join_multicast_ex}. The same events follow.
   *
   * @param group the address of the group; the port is ignored
   * @param flag the kind of membership
   * @param context a number, returned as the {@link ConnectionEvent#argument} of the events
   * @throws IllegalStateException if the identifier is not bound to a device
   * @throws VerbsException if the transport does not support the group: over RoCE v2, Linux
   *     supports IPv4 groups only
   */
  public void join(InetSocketAddress group, JoinFlag flag, long context) {
    id.requireDevice();
    try (Arena arena = Arena.ofConfined()) {
      MemorySegment attr = rdma_cm_join_mc_attr_ex.allocate(arena);
      rdma_cm_join_mc_attr_ex.comp_mask(
          attr, rdma_h.RDMA_CM_JOIN_MC_ATTR_ADDRESS() | rdma_h.RDMA_CM_JOIN_MC_ATTR_JOIN_FLAGS());
      rdma_cm_join_mc_attr_ex.join_flags(attr, flag.code());
      rdma_cm_join_mc_attr_ex.addr(attr, write(group, arena));
      join(
          group,
          (rdmacm, pointer) -> rdmacm.rdma_join_multicast_ex(pointer, attr.address(), context));
    }
  }

  private void join(InetSocketAddress group, NativeId.Call join) {
    try {
      id.call(
          "joining " + group,
          (rdmacm, pointer) -> {
            join.on(rdmacm, pointer);
            id.groups().add(group);
          });
    } catch (VerbsException e) {
      if (!id.hasChannel()) {
        giveUp(group, e);
      }
      throw e;
    }
  }

  /** Cancels a join that failed for the caller: it is still in progress in the kernel. */
  void giveUp(InetSocketAddress group, Throwable failure) {
    try {
      leave(group);
    } catch (VerbsException | IllegalStateException e) {
      failure.addSuppressed(e);
    }
  }

  /**
   * Leaves a group, or cancels a join in progress: {@code rdma_leave_multicast}.
   *
   * @param group the address that it was joined with
   * @throws VerbsException EADDRNOTAVAIL if it was not joined
   */
  public void leave(InetSocketAddress group) {
    requireGroup(group);
    id.call("leaving " + group, (rdmacm, pointer) -> id.groups().leave(group));
  }

  private static MemorySegment write(InetSocketAddress group, Arena arena) {
    requireGroup(group);
    return SocketAddresses.write(group, arena);
  }

  private static void requireGroup(InetSocketAddress group) {
    if (group.isUnresolved() || !group.getAddress().isMulticastAddress()) {
      throw new IllegalArgumentException(group + " is not a multicast address");
    }
  }

  @Override
  public String toString() {
    return "multicast groups of " + id;
  }
}
