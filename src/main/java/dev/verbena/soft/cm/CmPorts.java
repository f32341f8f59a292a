package dev.verbena.soft.cm;

import dev.verbena.Errno;
import dev.verbena.VerbsException;
import dev.verbena.internal.time.Time;
import dev.verbena.soft.device.CallFailure;
import dev.verbena.soft.device.SoftDevice;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ThreadLocalRandom;
import org.jspecify.annotations.Nullable;

/**
 * The ports of the port spaces of RDMA CM and the identifiers that are bound to them, by the rules
 * of the kernel. Used under the network's lock.
 */
final class CmPorts {
  private static final int FIRST = 32_768;
  private static final int LAST = 60_999;

  private record Key(int portSpace, int port) {}

  private final CmManager manager;
  private final Map<Key, List<CmId>> bound = new HashMap<>();

  CmPorts(CmManager manager) {
    this.manager = manager;
  }

  /**
   * Binds an identifier.
   *
   * @return the address, with a port that was chosen if none was asked for
   * @throws VerbsException EADDRINUSE or EADDRNOTAVAIL if another one has it
   */
  InetSocketAddress bind(CmId id, InetSocketAddress address) {
    InetSocketAddress chosen =
        address.getPort() == 0
            ? new InetSocketAddress(address.getAddress(), freePort(id.portSpace))
            : address;
    List<CmId> owners =
        bound.computeIfAbsent(new Key(id.portSpace, chosen.getPort()), k -> new ArrayList<>());
    requireFree(id, chosen.getAddress(), owners, id.sharesAddress);
    owners.add(id);
    return chosen;
  }

  private int freePort(int portSpace) {
    int count = LAST - FIRST + 1;
    int start = Time.random(ThreadLocalRandom.current()).nextInt(count);
    for (int i = 0; i < count; i++) {
      int port = FIRST + (start + i) % count;
      if (!bound.containsKey(new Key(portSpace, port))) {
        return port;
      }
    }
    throw CallFailure.of(Errno.EADDRNOTAVAIL, "all ports are in use");
  }

  private void requireFree(CmId id, InetAddress address, List<CmId> owners, boolean shares) {
    for (CmId other : owners) {
      InetAddress taken = other.source == null ? address : other.source.getAddress();
      boolean apart =
          other == id
              || (shares && other.sharesAddress)
              || (id.addressFamilyOnly
                  && other.addressFamilyOnly
                  && taken.getClass() != address.getClass());
      if (apart) {
        continue;
      }
      if (manager.isAny(address) || manager.isAny(taken)) {
        throw CallFailure.of(Errno.EADDRNOTAVAIL, "the port is bound to " + taken);
      }
      if (taken.equals(address)) {
        throw CallFailure.of(Errno.EADDRINUSE, "another identifier has the port");
      }
    }
  }

  /**
   * Checks that an identifier does not share what it is going to listen on.
   *
   * @throws VerbsException EADDRINUSE or EADDRNOTAVAIL if it does
   */
  void requireListenable(CmId id) {
    List<CmId> owners = bound.get(new Key(id.portSpace, id.source.getPort()));
    requireFree(id, id.source.getAddress(), owners, false);
  }

  /** Releases the port of an identifier. */
  void release(CmId id) {
    if (id.source != null) {
      Key key = new Key(id.portSpace, id.source.getPort());
      List<CmId> owners = bound.get(key);
      if (owners != null) {
        owners.remove(id);
        if (owners.isEmpty()) {
          bound.remove(key);
        }
      }
    }
  }

  /** The identifier that listens for a service at an address of a device, or null. */
  @Nullable CmId listener(long service, InetAddress address, SoftDevice device) {
    Key key = new Key((int) (service >>> 16), (int) (service & 0xffff));
    for (CmId id : bound.getOrDefault(key, List.of())) {
      if (id.state == CmId.State.LISTEN
          && serves(id, address)
          && (id.port == null || id.port.device == device)) {
        return id;
      }
    }
    return null;
  }

  private boolean serves(CmId id, InetAddress address) {
    InetAddress own = id.source.getAddress();
    if (!manager.isAny(own)) {
      return own.equals(address);
    }
    // The wildcard address of IPv6 serves IPv4, too.
    return own.getClass() == address.getClass()
        || (own.getAddress().length > address.getAddress().length && !id.addressFamilyOnly);
  }
}
