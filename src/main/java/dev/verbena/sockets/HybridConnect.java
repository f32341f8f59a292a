package dev.verbena.sockets;

import dev.verbena.internal.Providers;
import dev.verbena.internal.time.Time;
import java.io.IOException;
import java.net.BindException;
import java.net.InetSocketAddress;
import java.net.SocketTimeoutException;
import java.nio.channels.AsynchronousCloseException;
import java.nio.channels.ClosedByInterruptException;
import java.nio.channels.ClosedChannelException;
import java.nio.channels.SelectableChannel;
import java.nio.channels.SelectionKey;
import java.nio.channels.Selector;
import java.nio.channels.SocketChannel;
import java.util.List;
import java.util.Objects;
import java.util.concurrent.TimeUnit;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;

/**
 * An attempt to connect a channel by RDMA, by TCP, or by both as in Happy Eyeballs (RFC 8305): one
 * has a head start, then both are tried, and the first that connects is used. The peer's program
 * must not accept the other one. That of RDMA is confirmed when this host reads the event of the
 * reply: once TCP is tried, {@link #step} reads it, and only if TCP has not connected.
 *
 * <p>Called with the lock of the channel held, but for {@link #changed}.
 */
final class HybridConnect {
  /** How long one is tried alone, and RDMA after TCP has failed. */
  private static final long HEAD_START =
      TimeUnit.MILLISECONDS.toNanos(Long.getLong("dev.verbena.sockets.fallback", 250));

  /** With less time for RDMA, TCP is tried first: the least head start of RFC 8305. */
  private static final long SHORTEST = TimeUnit.MILLISECONDS.toNanos(10);

  private final SocketChannel tcp;
  private final Supplier<StreamChannel> openRdma;
  private final List<EventKey> keys;
  private final InetSocketAddress target;
  private final @Nullable InetSocketAddress local;
  private final Rule rule;
  private final boolean isTcpFirst;
  private final long start = Time.now();
  private final long latest; // When the second one is tried at the latest.

  private boolean mayRdma; // Whether it may be tried, and was not yet.
  private boolean mayTcp;

  /** The channel over RDMA, from when it is tried until it has failed. */
  private @Nullable StreamChannel rdma;

  private volatile boolean isTcpPending;

  private long since; // When the last attempt began, or failed.
  private volatile boolean hasTimer;
  private @Nullable IOException ofRdma;
  private @Nullable IOException ofTcp;
  private volatile @Nullable IOException failure;
  private volatile @Nullable SocketChannel winner;
  private volatile @Nullable Selector waiting; // In which a thread waits.

  /** Makes an attempt, which will be waited for so long; by RDMA only if TCP is impossible. */
  HybridConnect(
      SocketChannel tcp,
      Supplier<StreamChannel> openRdma,
      List<EventKey> keys,
      boolean isTcpPossible,
      InetSocketAddress target,
      long nanos)
      throws IOException {
    this.tcp = tcp;
    this.openRdma = openRdma;
    this.keys = keys;
    this.target = target;
    latest = TimeUnit.MILLISECONDS.toNanos(TimeUnit.NANOSECONDS.toMillis(nanos) / 2);
    local = (InetSocketAddress) tcp.getLocalAddress();
    rule = Rules.configured().of(target);
    mayTcp = rule.transport() != Rule.Transport.RDMA_ONLY && isTcpPossible;
    mayRdma =
        !mayTcp || (rule.transport() != Rule.Transport.TCP && Providers.mayReach(target, local));
    isTcpFirst =
        mayRdma && mayTcp && (latest < SHORTEST || SilentPeers.contains(target.getAddress()));
    if (isTcpFirst) {
      ofRdma = new SocketTimeoutException("no answer by RDMA lately, or a short timeout");
    }
  }

  /** Returns whether RDMA is not tried. */
  boolean isTcpOnly() {
    return !mayRdma;
  }

  boolean isTcpPending() {
    return isTcpPending;
  }

  boolean hasEnded() {
    return winner != null || failure != null;
  }

  /** Returns the connected channel, null as long as there is none; throws if there will be none. */
  @Nullable SocketChannel result() throws IOException {
    if (failure != null) {
      throw failure;
    }
    return winner;
  }

  /** Connects by TCP; the channel is blocking, and RDMA is not tried. */
  void byTcp(long nanos) throws IOException {
    if (nanos == SocketCalls.FOREVER) {
      boolean _ = tcp.connect(target);
    } else {
      tcp.socket().connect(target, SocketCalls.milliseconds(nanos));
    }
    won(tcp);
  }

  /** Waits until the attempt has ended, the channel is closed, or for an interrupt. */
  void await(SelectableChannel channel, long nanos) throws IOException {
    requireUndisturbed(channel);
    if (hasEnded()) {
      return;
    }
    try (Selector selector = new EventSelector(channel.provider())) {
      waiting = selector;
      step(true); // What has changed before.
      requireUndisturbed(channel);
      while (!hasEnded()) {
        register(rdma, selector);
        register(isTcpPending ? tcp : null, selector);
        long left = Math.min(SocketCalls.left(nanos, start, "Connect timed out"), left());
        int _ = selector.select(SocketCalls.milliseconds(left));
        step(true);
        requireUndisturbed(channel);
      }
    } finally {
      waiting = null;
    }
  }

  private static void requireUndisturbed(SelectableChannel channel) throws IOException {
    if (Thread.currentThread().isInterrupted()) {
      channel.close();
      throw new ClosedByInterruptException();
    } else if (!channel.isOpen()) {
      throw new AsynchronousCloseException();
    }
  }

  private static void register(@Nullable SocketChannel channel, Selector selector)
      throws IOException {
    if (channel != null && channel.keyFor(selector) == null) {
      SelectionKey _ = channel.register(selector, SelectionKey.OP_CONNECT);
    }
  }

  /** Makes the threads that wait for the attempt take the next step. */
  void changed() {
    keys.forEach(EventKey::changed);
    Selector selector = waiting;
    if (selector != null) {
      Selector _ = selector.wakeup();
    }
  }

  /** Takes the steps that need not be waited for; finishes TCP only if it may be ready. */
  void step(boolean isTcpReady) {
    try {
      if (isTcpReady && isTcpPending && !hasEnded()) {
        finishTcp();
      }
      while (!hasEnded() && advance()) {
        since = Time.now();
      }
    } catch (IOException e) { // The channel was closed.
      failure = e;
    }
  }

  /** Makes selectors examine the channel when the time of the one that is tried alone is over. */
  void schedule() {
    if (!hasTimer && !hasEnded() && left() != SocketCalls.FOREVER) {
      hasTimer = true;
      Time.after(
          Math.max(0, left()),
          () -> {
            hasTimer = false;
            changed();
          });
    }
  }

  /** Begins or ends what is to be begun or ended now; returns whether there was something. */
  private boolean advance() throws IOException {
    if (isTcpPending && rdma != null && rdma.events().isHolding()) {
      finishTcp(); // It may have connected, and is accepted then.
      if (isTcpPending) {
        Objects.requireNonNull(rdma).events().receivePending();
      }
    } else if (isRdmaEstablished()) {
      won(Objects.requireNonNull(rdma));
    } else if ((mayTcp || mayRdma) && ((rdma == null && !isTcpPending) || left() <= 0)) {
      if (mayTcp && (isTcpFirst || !mayRdma)) {
        beginTcp();
      } else {
        beginRdma();
      }
    } else if (!isTcpPending && (rdma == null || left() <= 0)) {
      fail();
    } else {
      return false;
    }
    return true;
  }

  /**
   * Returns how long the one that is tried alone has left, since it began, the other one failed, or
   * RDMA CM had its last event: also the addresses are resolved.
   */
  private long left() {
    boolean isAlone = isTcpPending != (rdma != null);
    if (!isAlone || !(mayTcp || mayRdma || (rdma != null && ofTcp != null))) {
      return SocketCalls.FOREVER;
    }
    long now = Time.now();
    long silent = now - since;
    if (rdma != null) {
      silent = Math.min(silent, now - rdma.events().progressed);
    }
    long limit = ofTcp == null ? latest : 2 * latest; // All of the time, for RDMA alone.
    return Math.min(HEAD_START - silent, limit - (now - start));
  }

  private void beginRdma() throws IOException {
    mayRdma = false;
    StreamChannel begun = openRdma.get();
    rdma = begun;
    try {
      SelectableChannel _ = begun.configureBlocking(false);
      if (local != null && !local.getAddress().isAnyLocalAddress()) {
        bind(begun, local); // Otherwise RDMA CM finds the device that reaches the peer.
      }
      boolean _ = begun.connect(target);
      if (isTcpPending) {
        begun.events().hold(this::changed);
      }
    } catch (IOException e) {
      rdmaFailed(e);
    }
  }

  /** Binds the channel over RDMA to the address of the one over TCP. */
  private static void bind(StreamChannel rdma, InetSocketAddress address) throws IOException {
    try {
      SocketChannel _ = rdma.bind(address);
    } catch (BindException e) {
      if (!Failures.isOfPort(e)) {
        throw e;
      }
      SocketChannel _ = rdma.bind(new InetSocketAddress(address.getAddress(), 0));
    }
  }

  private boolean isRdmaEstablished() throws IOException {
    try {
      return rdma != null && rdma.finishConnect();
    } catch (IOException e) {
      rdmaFailed(e);
      return false;
    }
  }

  private void rdmaFailed(IOException e) throws IOException {
    if (e instanceof ClosedChannelException) {
      throw e;
    }
    ofRdma = e;
    rdma = null;
  }

  private void beginTcp() throws IOException {
    StreamChannel pending = rdma;
    if (pending != null) {
      pending.events().hold(this::changed); // After an event that is being processed.
      if (isRdmaEstablished() || (rdma != null && left() > 0)) {
        pending.events().resume();
        return;
      }
    }
    mayTcp = false;
    try {
      if (tcp.connect(target)) {
        won(tcp);
      } else {
        isTcpPending = true;
        keys.forEach(EventKey::changed);
      }
    } catch (IOException e) {
      tcpFailed(e);
    }
  }

  private void finishTcp() throws IOException {
    isTcpPending = false;
    keys.forEach(EventKey::attach); // Without the descriptor, which the JDK closes if it failed.
    try {
      if (tcp.finishConnect()) {
        won(tcp);
      } else {
        isTcpPending = true;
        keys.forEach(EventKey::changed);
      }
    } catch (IOException e) {
      tcpFailed(e);
    }
  }

  private void tcpFailed(IOException e) throws IOException {
    if (e instanceof ClosedChannelException) {
      throw e;
    }
    ofTcp = e;
    since = Time.now();
    if (rdma != null) {
      rdma.events().resume();
    }
  }

  private void fail() {
    withdraw();
    IOException last = Objects.requireNonNull(ofTcp == null ? ofRdma : ofTcp);
    if (ofTcp != null && ofRdma != null) {
      last.addSuppressed(ofRdma);
    }
    failure = last;
  }

  /** Ends an attempt by RDMA that the peer has not answered. */
  private void withdraw() {
    if (rdma != null) {
      long millis = TimeUnit.NANOSECONDS.toMillis(Time.now() - start);
      ofRdma = new SocketTimeoutException("no answer by RDMA within " + millis + " ms");
      TransportLog.closeUnused(rdma);
      rdma = null;
    }
  }

  private void won(SocketChannel channel) {
    boolean isTcp = channel.equals(tcp);
    isTcpPending = false;
    if (isTcp) {
      if (rdma != null && !isTcpFirst && latest >= HEAD_START) {
        SilentPeers.add(target.getAddress(), HEAD_START);
      }
      withdraw();
    } else {
      keys.forEach(EventKey::attach); // Without the descriptor, before it is closed.
      TransportLog.closeUnused(tcp);
      Objects.requireNonNull(rdma).events().resume();
      SilentPeers.answered(target.getAddress());
    }
    winner = channel;
    TransportLog.report("connection to", target, isTcp ? "TCP" : "RDMA", rule, ofRdma);
    keys.forEach(EventKey::changed);
  }
}
