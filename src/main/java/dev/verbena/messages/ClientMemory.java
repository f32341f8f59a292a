package dev.verbena.messages;

import dev.verbena.cm.Endpoint;
import dev.verbena.values.AccessFlag;
import dev.verbena.verbs.ProtectionDomain;

/** The protection domain of a client, which all of its connections have, and its pool. */
final class ClientMemory {
  private final ProtectionDomain domain;
  private final RegionPool pool;

  ClientMemory(Endpoint endpoint, long copies) {
    domain = endpoint.id().context().allocateProtectionDomain();
    pool =
        new RegionPool(
            domain,
            copies,
            AccessFlag.LOCAL_WRITE,
            AccessFlag.REMOTE_READ,
            AccessFlag.REMOTE_WRITE);
  }

  ProtectionDomain domain() {
    return domain;
  }

  RegionPool pool() {
    return pool;
  }

  /** Returns whether an endpoint has the same device, which was not removed meanwhile. */
  boolean fits(Endpoint endpoint) {
    return domain.isOpen() && domain.context().equals(endpoint.id().context());
  }

  void close() {
    domain.close();
  }
}
