package dev.verbena.soft.cm;

import dev.verbena.Errno;
import dev.verbena.VerbsException;
import dev.verbena.internal.Verbs;
import dev.verbena.soft.device.CallFailure;
import dev.verbena.soft.device.Fabric;
import dev.verbena.soft.device.SoftDevice;
import dev.verbena.soft.device.SoftPort;
import dev.verbena.soft.engine.Engine;
import dev.verbena.soft.wire.Gids;
import java.net.InetAddress;
import java.util.Collections;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.function.Supplier;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;

/**
 * RDMA CM of a network: its channels and identifiers, the ports that are bound, and the
 * communication managers of the devices.
 */
public final class CmManager {
  /** As in the kernel. */
  static final int MAX_BACKLOG = 1024;

  private final Fabric network;
  final Engine engine;
  private final Verbs verbs;
  private final CmPorts ports = new CmPorts(this);
  private final Map<SoftDevice, CmAgent> agents = new HashMap<>();
  private final Map<SoftDevice, CmDevice> devices = new LinkedHashMap<>();

  /** Guarded by the devices. */
  private boolean isClosed;

  /** Set under the network's lock when the network is closed: nobody reports events any more. */
  private boolean isEnded;

  private final Map<Long, CmChannel> channels = new ConcurrentHashMap<>();
  private final Map<Long, CmHandle> handles = Collections.synchronizedMap(new LinkedHashMap<>());

  public CmManager(Fabric network, Engine engine, Verbs verbs) {
    this.network = network;
    this.engine = engine;
    this.verbs = verbs;
  }

  public Verbs verbs() {
    return verbs;
  }

  // The network

  public <T> T locked(Supplier<T> call) {
    return engine.locked(call);
  }

  public void locked(Runnable call) {
    engine.locked(call);
  }

  CmPorts ports() {
    return ports;
  }

  /** The port with an IP address, or null. */
  @Nullable SoftPort port(InetAddress address) {
    Gids gid = Gids.of(address);
    return network.port(gid.high(), gid.low());
  }

  /**
   * The port to reach a peer from: of another device, if there is one, else of the peer's own; null
   * if none has an address of the family, and a route.
   */
  @Nullable SoftPort portToward(InetAddress peer) {
    int length = peer.getAddress().length;
    SoftPort peers = port(peer);
    List<SoftPort> candidates =
        network.devices().stream()
            .flatMap(device -> device.ports.stream())
            .filter(port -> address(port, length) != null)
            .filter(port -> hasRoute(port, peer))
            .toList();
    return candidates.stream()
        .filter(port -> peers == null || port.device != peers.device)
        .findFirst()
        .orElse(peers);
  }

  /** Whether the host has a route from a port to an IP address, if packets leave the network. */
  boolean hasRoute(SoftPort port, InetAddress peer) {
    InetAddress own = address(port, peer.getAddress().length);
    return !isLinked()
        || peer.isMulticastAddress()
        || (own != null && network.hasRoute(Gids.of(own), peer));
  }

  /** The first IP address of a port that has so many bytes, or null. */
  @Nullable InetAddress address(SoftPort port, int length) {
    return port.gids.stream()
        .skip(port.firstAddress)
        .map(Gids::address)
        .filter(address -> address.getAddress().length == length)
        .findFirst()
        .orElse(null);
  }

  /** Whether other networks may have addresses that this one does not have. */
  boolean isLinked() {
    return network.isLinked();
  }

  /**
   * Whether an address stands for any: the kernel takes the loopback address for the wildcard
   * address, unless a device may have it.
   */
  boolean isAny(InetAddress address) {
    return address.isAnyLocalAddress() || (address.isLoopbackAddress() && !isLinked());
  }

  /** The times of the communication manager. */
  CmTimers times() {
    return isLinked() ? CmTimers.NETWORK : CmTimers.LOCAL;
  }

  /** Whether packets reach one port from another, or a peer of another network (null). */
  boolean reaches(SoftPort from, @Nullable SoftPort to) {
    if (to == null) {
      return from.carries();
    }
    return from.carries() && network.reaches(from, to);
  }

  /** The communication manager of a device. Called under the network's lock. */
  CmAgent agent(SoftDevice device) {
    return agents.computeIfAbsent(device, d -> new CmAgent(this, d));
  }

  /** Makes all devices receive messages of RDMA CM. Called under the network's lock. */
  public void startAgents() {
    network.devices().forEach(this::agent);
  }

  // Devices

  /** The context and the domain of a device. */
  CmDevice device(SoftDevice device) {
    synchronized (devices) {
      if (isClosed && !devices.containsKey(device)) {
        throw CallFailure.of(Errno.ENODEV, "the network is closed");
      }
      return devices.computeIfAbsent(device, d -> new CmDevice(verbs, d));
    }
  }

  /** Lists the devices, each with its context; {@link #forget} follows for each. */
  public List<CmDevice> devices() {
    closeRemoved();
    List<SoftDevice> present = locked(() -> List.copyOf(network.devices()));
    synchronized (devices) {
      List<CmDevice> all = present.stream().flatMap(this::openable).toList();
      all.forEach(CmDevice::list);
      return all;
    }
  }

  /** As librdmacm does, leaves out a device that cannot be opened: it may have been removed. */
  private Stream<CmDevice> openable(SoftDevice device) {
    try {
      return Stream.of(device(device));
    } catch (VerbsException e) {
      if (isClosed) {
        throw e;
      }
      return Stream.empty();
    }
  }

  /** A list does not contain the device of a context any more. */
  public void forget(long context) {
    synchronized (devices) {
      devices.values().stream().filter(d -> d.context == context).forEach(CmDevice::unlist);
    }
    closeRemoved();
  }

  /** An identifier is not bound to a device any more. */
  public void release(CmDevice device) {
    device.release();
    closeRemoved();
  }

  /** Closes the contexts of devices that were removed, to which nothing refers. */
  private void closeRemoved() {
    synchronized (devices) {
      devices.entrySet().removeIf(e -> e.getKey().isRemoved() && e.getValue().closeIfRemoved());
      locked(() -> agents.keySet().removeIf(d -> d.isRemoved() && !devices.containsKey(d)));
    }
  }

  /** Closes the contexts of the devices: the network is closed. */
  public void close() {
    synchronized (devices) {
      isClosed = true;
      devices.values().forEach(CmDevice::close);
    }
  }

  /** Returns whether the address is that of a context which librdmacm opened, and maybe closed. */
  public boolean opened(long context) {
    synchronized (devices) {
      return devices.values().stream().anyMatch(device -> device.context == context);
    }
  }

  /** Returns the number of open event channels. */
  public int channelCount() {
    return channels.size();
  }

  /** Tells the identifiers of a device that it was removed. Called under the network's lock. */
  public void removed(SoftDevice device) {
    identifiers().forEach(id -> id.removed(device));
  }

  /** Ends all connections and look-ups. Called under the network's lock. */
  public void destroyAll() {
    isEnded = true;
    identifiers().forEach(CmId::destroy);
  }

  /**
   * Tells all identifiers that the network was closed, as if their devices were removed: none of
   * them has another event, and threads wait for one. Called under the network's lock.
   */
  public void reportEnd() {
    identifiers().forEach(CmId::ended);
  }

  private void requireNetwork() {
    if (isEnded) {
      throw CallFailure.of(Errno.ENODEV, "the network is closed");
    }
  }

  // Channels and identifiers

  /**
   * Opens a channel.
   *
   * @throws VerbsException ENODEV if the network is closed
   */
  public CmChannel openChannel() {
    locked(() -> requireNetwork());
    CmChannel channel = new CmChannel();
    channels.put(channel.address(), channel);
    return channel;
  }

  /**
   * The channel at an address.
   *
   * @throws VerbsException EINVAL if there is none
   */
  public CmChannel channel(long address) {
    CmChannel channel = channels.get(address);
    if (channel == null) {
      throw CallFailure.invalid("no such event channel");
    }
    return channel;
  }

  /** Closes a channel: the kernel then forgets the identifiers that report on it. */
  public void close(CmChannel channel) {
    locked(() -> identifiers().filter(id -> id.channel == channel).forEach(CmId::destroy));
    channels.remove(channel.address());
    locked(channel::close);
  }

  /**
   * Adds an identifier.
   *
   * @throws VerbsException ENODEV if the network is closed: it would have no event
   */
  public void add(CmHandle handle) {
    locked(
        () -> {
          requireNetwork();
          handles.put(handle.address(), handle);
        });
  }

  /**
   * The identifier at an address.
   *
   * @throws VerbsException EINVAL if there is none
   */
  public CmHandle handle(long address) {
    CmHandle handle = handles.get(address);
    if (handle == null) {
      throw CallFailure.invalid("no such identifier");
    }
    return handle;
  }

  /** The identifiers, in the order of their creation. */
  private Stream<CmId> identifiers() {
    return List.copyOf(handles.values()).stream().map(handle -> handle.id);
  }

  public void remove(CmHandle handle) {
    handles.remove(handle.address());
  }
}
