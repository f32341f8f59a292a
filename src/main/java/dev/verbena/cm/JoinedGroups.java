package dev.verbena.cm;

import dev.verbena.VerbsException;
import dev.verbena.internal.Librdmacm;
import dev.verbena.internal.io.SocketAddresses;
import java.lang.foreign.Arena;
import java.net.InetSocketAddress;
import java.util.ArrayList;
import java.util.List;

/**
 * The multicast groups that an identifier has joined or is joining.
 *
 * <p>The kernel does not destroy a queue pair that is attached to a group, and {@code
 * rdma_destroy_qp} ignores the failure: all groups must be left before.
 */
final class JoinedGroups {
  private final Librdmacm rdmacm;
  private final long id;
  private final List<InetSocketAddress> joined = new ArrayList<>();

  JoinedGroups(Librdmacm rdmacm, long id) {
    this.rdmacm = rdmacm;
    this.id = id;
  }

  /** Adds a group. A group that was joined twice must be left twice. */
  synchronized void add(InetSocketAddress group) {
    joined.add(group);
  }

  /** Leaves a group: {@code rdma_leave_multicast}. */
  synchronized void leave(InetSocketAddress group) {
    joined.remove(group);
    try (Arena arena = Arena.ofConfined()) {
      rdmacm.rdma_leave_multicast(id, SocketAddresses.write(group, arena).address());
    }
  }

  /** Leaves all groups that were not left. */
  synchronized void leaveAll() {
    while (!joined.isEmpty()) {
      try {
        leave(joined.getLast());
      } catch (VerbsException e) {
        // The kernel has no such membership any more, for example after the device was removed.
        // librdmacm has detached the queue pair before.
      }
    }
  }
}
