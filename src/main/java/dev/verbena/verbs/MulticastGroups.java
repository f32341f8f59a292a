package dev.verbena.verbs;

import dev.verbena.VerbsException;
import dev.verbena.address.Gid;
import dev.verbena.internal.Ranges;
import dev.verbena.internal.Verbs;
import dev.verbena.raw.ibv_gid;
import dev.verbena.values.QueuePairType;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.util.HashSet;
import java.util.Iterator;
import java.util.Set;

/**
 * The multicast groups that a queue pair is attached to. {@code ibv_destroy_qp} fails for an
 * attached queue pair, so it is detached from all groups before.
 *
 * <p>Attaching a queue pair twice has no effect, also in the kernel.
 */
final class MulticastGroups {
  private final QueuePair queuePair;
  private final Verbs verbs;

  /** Needed also while the queue pair is closed. */
  private final long address;

  private final Set<Group> attached = new HashSet<>();

  private record Group(Gid gid, short lid) {}

  private interface Call {
    void on(long queuePair, long gid, short lid);
  }

  MulticastGroups(QueuePair queuePair) {
    this.queuePair = queuePair;
    this.verbs = queuePair.context().verbs();
    this.address = queuePair.address();
  }

  synchronized void attach(Gid gid, int lid) {
    Group group = group(gid, lid);
    call(verbs::ibv_attach_mcast, group);
    attached.add(group);
  }

  synchronized void detach(Gid gid, int lid) {
    Group group = group(gid, lid);
    call(verbs::ibv_detach_mcast, group);
    attached.remove(group);
  }

  private Group group(Gid gid, int lid) {
    if (queuePair.type() != QueuePairType.UD) {
      throw new IllegalStateException(
          "multicast requires a UD queue pair: " + queuePair + " is " + queuePair.type());
    }
    if (!gid.isMulticast()) {
      throw new IllegalArgumentException(gid + " is not a multicast address of IPv6 or IPv4");
    }
    return new Group(gid, (short) Ranges.bits(lid, Short.SIZE, "a LID"));
  }

  private void call(Call function, Group group) {
    try (Arena arena = Arena.ofConfined()) {
      MemorySegment gid = ibv_gid.allocate(arena);
      group.gid().writeTo(gid);
      function.on(address, gid.address(), group.lid());
    }
  }

  /**
   * Detaches the queue pair from all groups, then destroys it.
   *
   * @throws VerbsException if destroying fails; failed detaches are suppressed exceptions, as they
   *     have no effect on a device that was removed
   */
  synchronized void leaveAndThen(Runnable destroy) {
    VerbsException stays = null;
    for (Iterator<Group> groups = attached.iterator(); groups.hasNext(); ) {
      try {
        call(verbs::ibv_detach_mcast, groups.next());
        groups.remove();
      } catch (VerbsException e) {
        stays = e;
      }
    }
    try {
      destroy.run();
    } catch (VerbsException e) {
      if (stays != null) {
        e.addSuppressed(stays);
      }
      throw e;
    }
  }
}
