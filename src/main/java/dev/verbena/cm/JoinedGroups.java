package dev.verbena.cm;

import dev.verbena.VerbsException;
import dev.verbena.internal.Librdmacm;
import dev.verbena.internal.SocketAddresses;
import java.lang.foreign.Arena;
import java.net.InetSocketAddress;
import java.util.ArrayList;
import java.util.List;

/**
 * The multicast groups that an identifier has joined, or began to join.
 *
 * <p>The kernel destroys no queue pair that is attached to a group, and {@code rdma_destroy_qp}
 * does not ask whether it did: so all groups must be left before.
 */
final class JoinedGroups {
  private final Librdmacm rdmacm;
  private final long id;
  private final List<InetSocketAddress> joined = new ArrayList<>();

  JoinedGroups(Librdmacm rdmacm, long id) {
    this.rdmacm = rdmacm;
    this.id = id;
  }

  /** Remembers a group. One that was joined twice must be left twice. */
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

  /** Leaves what was not left yet. */
  synchronized void leaveAll() {
    while (!joined.isEmpty()) {
      try {
        leave(joined.getLast());
      } catch (VerbsException e) {
        // The kernel knows it no longer, as when the device is gone. C has detached the queue pair
        // before it asked.
      }
    }
  }
}
