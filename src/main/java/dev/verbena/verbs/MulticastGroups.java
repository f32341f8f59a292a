package dev.verbena.verbs;

import dev.verbena.VerbsException;
import dev.verbena.internal.Verbs;
import dev.verbena.raw.ibv_gid;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.util.HashSet;
import java.util.Iterator;
import java.util.Set;

/**
 * The multicast groups that a queue pair is attached to. C destroys no queue pair that is in one,
 * so all are left before.
 *
 * <p>Being attached twice is being attached once, to the kernel too.
 */
final class MulticastGroups {
  private final Verbs verbs;
  private final long queuePair;
  private final Set<Group> attached = new HashSet<>();

  private record Group(Gid gid, short lid) {}

  private interface Call {
    void on(long queuePair, long gid, short lid);
  }

  MulticastGroups(Verbs verbs, long queuePair) {
    this.verbs = verbs;
    this.queuePair = queuePair;
  }

  synchronized void attach(Gid gid, short lid) {
    Group group = new Group(gid, lid);
    call(verbs::ibv_attach_mcast, group);
    attached.add(group);
  }

  synchronized void detach(Gid gid, short lid) {
    Group group = new Group(gid, lid);
    call(verbs::ibv_detach_mcast, group);
    attached.remove(group);
  }

  private void call(Call function, Group group) {
    try (Arena arena = Arena.ofConfined()) {
      MemorySegment gid = ibv_gid.allocate(arena);
      group.gid().writeTo(gid);
      function.on(queuePair, gid.address(), group.lid());
    }
  }

  /**
   * Destroys the queue pair, outside of all groups.
   *
   * @throws VerbsException if C refuses; with it, why a group could not be left, which need not
   *     matter: of a device that is gone there is nothing to leave
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
