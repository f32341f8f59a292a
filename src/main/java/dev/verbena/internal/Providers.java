package dev.verbena.internal;

import dev.verbena.VerbsException;
import dev.verbena.internal.foreign.Libc;
import dev.verbena.internal.time.Time;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Collections;
import java.util.List;
import java.util.Set;
import java.util.WeakHashMap;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicReference;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;

/**
 * The providers of this JVM: the C libraries, the software devices that are configured for the
 * whole JVM, and the software networks that programs opened.
 *
 * <p>Objects of {@code dev.verbena.verbs} keep the provider that they were created by, so that
 * several can be used at the same time. What is not called on an object uses the provider of the
 * thread ({@link CurrentProvider}), if it has one, otherwise the {@linkplain #system default}. Two
 * rules are needed: networks of tests that run in parallel have the same addresses, and only the
 * thread tells them apart; software devices that are configured for the whole JVM stand beside
 * those of the host, and only an address tells which is meant ({@link #reaching}).
 */
public final class Providers {
  /** The device of the kernel's RDMA CM. */
  private static final Path KERNEL = Path.of("/dev/infiniband/rdma_cm");

  private static final RdmaAddresses RDMA_ADDRESSES = new RdmaAddresses(Path.of("/sys/class"));

  private static final List<Provider> NETWORKS = new CopyOnWriteArrayList<>();

  /** Networks that were closed. A program may still use their contexts, which are no C structs. */
  private static final Set<Provider> CLOSED =
      Collections.synchronizedSet(Collections.newSetFromMap(new WeakHashMap<>()));

  private static final List<Consumer<Provider>> WHEN_CLOSED = new CopyOnWriteArrayList<>();

  private static final System.Logger LOG = System.getLogger("dev.verbena.sockets");

  /** How long after a failure the configured software devices are not tried again. */
  private static final long PAUSE = TimeUnit.SECONDS.toNanos(1);

  /** When the configured software devices could not be created last. */
  private static final AtomicReference<@Nullable Long> FAILED = new AtomicReference<>();

  private Providers() {}

  /** Calls an action with the provider of each software network that is closed from now on. */
  public static void whenClosed(Consumer<Provider> action) {
    WHEN_CLOSED.add(action);
  }

  /** Adds the provider of a software network that was opened. */
  public static void add(Provider network) {
    NETWORKS.add(network);
  }

  /** Removes the provider of a software network that was closed. */
  public static void remove(Provider network) {
    CLOSED.add(network);
    NETWORKS.remove(network);
    WHEN_CLOSED.forEach(action -> action.accept(network));
  }

  /** Returns whether the provider is that of a software network which was closed. */
  public static boolean isClosed(Provider provider) {
    return provider != NativeProvider.INSTANCE && !NETWORKS.contains(provider);
  }

  /** Returns the provider that opened a context: a software network, otherwise the C libraries. */
  public static Provider ofContext(long context) {
    for (Provider network : NETWORKS) {
      if (network.owns(context)) {
        return network;
      }
    }
    synchronized (CLOSED) {
      for (Provider network : CLOSED) {
        if (network.owns(context)) {
          return network;
        }
      }
    }
    return NativeProvider.INSTANCE;
  }

  /**
   * Returns the provider to bind to an address, or to connect to one: the {@linkplain #system
   * default}, unless that is software devices of which none has the address, while the kernel's
   * RDMA CM is available.
   *
   * @param addresses the own and the peer's address, each null if there is none
   */
  public static Provider reaching(@Nullable InetSocketAddress... addresses) {
    Provider system = system();
    boolean elsewhere = false;
    for (InetSocketAddress socketAddress : addresses) {
      InetAddress address = socketAddress == null ? null : socketAddress.getAddress();
      if (address != null && system.serves(address)) {
        return system;
      }
      elsewhere |=
          address != null
              && !address.isAnyLocalAddress()
              && !address.isLoopbackAddress()
              && !address.isMulticastAddress();
    }
    return elsewhere && CurrentProvider.get() == null && Files.exists(KERNEL)
        ? NativeProvider.INSTANCE
        : system;
  }

  /** Returns whether there are RDMA devices: otherwise {@link #mayReach} is false. */
  public static boolean mayHaveDevices() {
    return CurrentProvider.get() != null
        || !NETWORKS.isEmpty()
        || !ConfiguredDevices.description().equals("0")
        || Files.exists(KERNEL);
  }

  /**
   * Returns whether an RDMA device may have an address, or reach it. False is certain, and costs no
   * attempt. If the software devices cannot be created, because another process has their address,
   * it is false for all addresses, which is logged once. The local address is null if it follows
   * from the route.
   */
  public static boolean mayReach(InetSocketAddress address, @Nullable InetSocketAddress local) {
    InetAddress host = address.getAddress();
    Long last = FAILED.get();
    if (last != null && CurrentProvider.get() == null && Time.now() - last < PAUSE) {
      return false;
    }
    Provider provider;
    try {
      provider = system();
    } catch (VerbsException e) {
      if (FAILED.getAndSet(Time.now()) == null) {
        LOG.log(
            System.Logger.Level.INFO,
            "channels are TCP as long as the software devices {0} cannot be created: {1}",
            ConfiguredDevices.description(),
            e.getMessage());
      }
      return false;
    }
    if (provider != NativeProvider.INSTANCE
        && (host.isAnyLocalAddress() || provider.serves(host))) {
      return true;
    }
    return CurrentProvider.get() == null
        && Files.exists(KERNEL)
        && !host.isLoopbackAddress()
        && RDMA_ADDRESSES.reach(host, local == null ? null : local.getAddress());
  }

  /**
   * Returns the default provider: the {@linkplain CurrentProvider current one} of the thread, the
   * software devices if some are configured, otherwise the C libraries of this host, loaded at the
   * first call of a function.
   */
  public static Provider system() {
    return all().getFirst();
  }

  /**
   * Returns the providers whose devices are listed: only the {@linkplain CurrentProvider current
   * one} of the thread if it has one; otherwise software devices first, if some are configured.
   */
  public static List<Provider> all() {
    Provider current = CurrentProvider.get();
    if (current != null) {
      return List.of(current);
    }
    return ConfiguredDevices.provider()
        .map(soft -> Libc.isPresent() ? List.of(soft, NativeProvider.INSTANCE) : List.of(soft))
        .orElse(List.of(NativeProvider.INSTANCE));
  }

  /** Returns whether a provider is that of the C libraries, which needs Linux. */
  public static boolean isNative(Provider provider) {
    return provider == NativeProvider.INSTANCE;
  }

  /** Returns the functions of libmlx5, loaded at the first call of one. */
  public static Mlx5dv mlx5dv() {
    return NativeProvider.INSTANCE.bind(Mlx5dv.class);
  }
}
