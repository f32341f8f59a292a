package dev.verbena.internal;

import java.lang.foreign.MemorySegment;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Optional;
import org.jspecify.annotations.Nullable;

/**
 * An implementation of the C functions: the C libraries, or software devices in Java.
 *
 * <p>Objects of {@code dev.verbena.verbs} keep the provider that they were created by, so that
 * several can be used at the same time. What is not called on an object uses the provider of the
 * thread ({@link CurrentProvider}), if it has one, otherwise the {@linkplain #system default}. Two
 * rules are needed: networks of tests that run in parallel have the same addresses, and only the
 * thread tells them apart; software devices that are configured for the whole JVM stand beside
 * those of the host, and only an address tells which is meant ({@link #reaching}).
 */
public interface Provider {
  /** The device of the kernel's RDMA CM. */
  Path KERNEL = Path.of("/dev/infiniband/rdma_cm");

  /** Returns the control verbs. */
  Verbs verbs();

  /** Returns the functions of the RDMA connection manager. */
  Librdmacm rdmacm();

  /** Returns the rdma-core release of libibverbs, if known. */
  default Optional<String> release() {
    return Optional.empty();
  }

  /** Returns whether a software network opened a context. */
  default boolean owns(long context) {
    return false;
  }

  /** Returns whether a software device has an IP address. */
  default boolean serves(InetAddress address) {
    return false;
  }

  /**
   * Tells which segment a registered memory region consists of. A software device copies from and
   * to the segment itself, which is faster than by address, and safe: an arena that is closed is
   * noticed.
   *
   * @param region the address of the {@code struct ibv_mr}
   */
  default void memoryOf(long region, MemorySegment memory) {}

  /** Returns the provider that opened a context. */
  static Provider ofContext(long context) {
    return SoftwareProviders.ofContext(context);
  }

  /** Returns whether the provider is that of a software network which was closed. */
  default boolean isClosed() {
    return SoftwareProviders.isClosed(this);
  }

  /**
   * Returns the provider to bind to an address, or to connect to one: the {@linkplain #system
   * default}, unless that is software devices of which none has the address, while the kernel's
   * RDMA CM is available.
   *
   * @param addresses the own and the peer's address, each null if there is none
   */
  static Provider reaching(@Nullable InetSocketAddress... addresses) {
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

  /**
   * Returns the default provider: the {@linkplain CurrentProvider current one} of the thread, the
   * software devices if some are configured, otherwise the C libraries of this host, loaded at the
   * first call of a function.
   */
  static Provider system() {
    return all().getFirst();
  }

  /**
   * Returns the providers whose devices are listed: only the {@linkplain CurrentProvider current
   * one} of the thread if it has one; otherwise software devices first, if some are configured.
   */
  static List<Provider> all() {
    Provider current = CurrentProvider.get();
    if (current != null) {
      return List.of(current);
    }
    return ConfiguredDevices.provider()
        .map(soft -> List.of(soft, NativeProvider.INSTANCE))
        .orElse(List.of(NativeProvider.INSTANCE));
  }
}
