package dev.verbena.sockets;

import dev.verbena.internal.Providers;
import dev.verbena.internal.io.EventSet;
import dev.verbena.internal.time.ScopedLock;
import dev.verbena.internal.time.Time;
import java.io.IOException;
import java.net.BindException;
import java.net.InetSocketAddress;
import java.net.ProtocolFamily;
import java.net.ServerSocket;
import java.net.SocketAddress;
import java.net.SocketOption;
import java.nio.channels.AlreadyBoundException;
import java.nio.channels.AsynchronousCloseException;
import java.nio.channels.ClosedByInterruptException;
import java.nio.channels.ClosedChannelException;
import java.nio.channels.ClosedSelectorException;
import java.nio.channels.NotYetBoundException;
import java.nio.channels.SelectionKey;
import java.nio.channels.Selector;
import java.nio.channels.ServerSocketChannel;
import java.nio.channels.SocketChannel;
import java.nio.channels.spi.SelectorProvider;
import java.util.List;
import java.util.Set;
import java.util.concurrent.CopyOnWriteArrayList;
import org.jspecify.annotations.Nullable;

/**
 * A server socket channel that accepts connections of RDMA, of TCP, or of both, which it decides
 * when it is bound. It has a listener of each.
 */
final class HybridListener extends ServerSocketChannel implements PolledChannel, ListenerCalls {
  private static final System.Logger LOG = System.getLogger("dev.verbena.sockets");

  /** How many ports of RDMA are tried until one is free for TCP, too. */
  private static final int ATTEMPTS = 16;

  private final SelectorProvider provider;
  private final ServerSocketChannel tcp;
  private final ListeningChannel rdma;
  private final @Nullable ProtocolFamily family;
  private final List<EventKey> keys = new CopyOnWriteArrayList<>();
  private final JdkChannel polledTcp;
  private final ServerSocket socket;
  private final ScopedLock lock = new ScopedLock();

  /** The listeners that are used. Both until one is bound; then those that are. */
  private volatile List<ServerSocketChannel> used;

  private volatile boolean isBound;

  /** Whether both were bound: they do not block, and an accept waits in a selector. */
  private volatile boolean isPolled;

  /** Held to accept. */
  private final ScopedLock acceptLock = new ScopedLock();

  /** Which of two listeners accepts next; guarded by {@link #acceptLock}. */
  private int turn;

  /** In which a blocking accept waits for both listeners; guarded by the lock. */
  private @Nullable Selector waiting;

  HybridListener(
      SelectorProvider provider, ServerSocketChannel tcp, @Nullable ProtocolFamily family) {
    super(provider);
    this.provider = provider;
    this.tcp = tcp;
    this.family = family;
    rdma = new ListeningChannel(provider, family, keys);
    polledTcp = new JdkChannel(tcp, keys);
    used = List.of(tcp, rdma);
    socket = ChannelServerSocket.of(this, this);
  }

  // Binding

  @Override
  public ServerSocketChannel bind(@Nullable SocketAddress address, int backlog) throws IOException {
    try (var _ = lock.hold()) {
      Failures.requireOpen(this);
      if (isBound) {
        throw new AlreadyBoundException();
      }
      bindDecided(
          address == null ? Addresses.wildcard() : Addresses.validated(address, family), backlog);
      isBound = true;
    }
    keys.forEach(EventKey::changed);
    return this;
  }

  private void bindDecided(InetSocketAddress address, int backlog) throws IOException {
    Rule rule = Rules.configured().of(address);
    IOException failure = null;
    switch (rule.transport()) {
      case RDMA, RDMA_ONLY -> use(rdma.bind(address, backlog));
      case TCP -> use(tcp.bind(address, backlog));
      case BOTH -> failure = bindBoth(address, backlog);
    }
    String transports =
        used.size() == 2 ? "RDMA and TCP" : used.getFirst().equals(rdma) ? "RDMA" : "TCP";
    TransportLog.report("listener at", getLocalAddress(), transports, rule, failure);
  }

  /** Uses one listener; closes the other one. */
  private void use(ServerSocketChannel only) {
    used = List.of(only);
    TransportLog.closeUnused(only.equals(tcp) ? rdma : tcp);
  }

  /** Binds those listeners that have the address; returns why it is not the one of RDMA. */
  private @Nullable IOException bindBoth(InetSocketAddress address, int backlog)
      throws IOException {
    if (!Providers.mayReach(address, null)) {
      use(tcp.bind(address, backlog));
      return null;
    }
    try {
      rdma.bind(address, backlog);
    } catch (IOException e) {
      if (Failures.isOfPort(e)) {
        throw e;
      }
      bindTcpAfter(e, address, backlog);
      return e;
    }
    if (Addresses.isOfThisHost(address.getAddress())) {
      bindTcpToo(address, backlog);
      for (ServerSocketChannel listener : used) {
        listener.configureBlocking(false);
      }
      isPolled = true;
    } else {
      use(rdma);
    }
    return null;
  }

  private void bindTcpAfter(IOException ofRdma, InetSocketAddress address, int backlog)
      throws IOException {
    try {
      use(tcp.bind(address, backlog));
    } catch (IOException e) {
      e.addSuppressed(ofRdma);
      throw e;
    }
  }

  private void bindTcpToo(InetSocketAddress address, int backlog) throws IOException {
    for (int attempt = 1; ; attempt++) {
      int port = rdma.socket().getLocalPort();
      try {
        tcp.bind(new InetSocketAddress(address.getAddress(), port), backlog);
        return;
      } catch (IOException e) {
        rdma.unbind(); // So that the program can bind this listener to another address.
        if (!(e instanceof BindException) || address.getPort() != 0 || attempt == ATTEMPTS) {
          throw e;
        }
      }
      rdma.bind(address, backlog);
    }
  }

  @Override
  public @Nullable SocketAddress getLocalAddress() throws IOException {
    Failures.requireOpen(this);
    return used.getFirst().getLocalAddress();
  }

  @Override
  public @Nullable InetSocketAddress localAddress() {
    return (InetSocketAddress) used.getFirst().socket().getLocalSocketAddress();
  }

  // Accepting

  @Override
  public @Nullable SocketChannel accept() throws IOException {
    return accept(SocketCalls.FOREVER);
  }

  @Override
  public @Nullable SocketChannel accept(long nanos) throws IOException {
    try (var _ = acceptLock.hold()) {
      Failures.requireOpen(this);
      if (isBlocking()) { // Closes it if the thread is interrupted, bound or not.
        begin();
        end(true);
      }
      if (!isBound) {
        throw new NotYetBoundException();
      }
      if (isPolled) {
        return isBlocking() ? awaitEither(nanos) : acceptEither();
      }
      return acceptOnly(nanos);
    }
  }

  private @Nullable SocketChannel acceptOnly(long nanos) throws IOException {
    ServerSocketChannel only = used.getFirst();
    try {
      if (only.equals(rdma)) {
        return rdma.accept(nanos);
      } else if (nanos == SocketCalls.FOREVER) {
        return tcp.accept();
      }
      tcp.socket().setSoTimeout(SocketCalls.milliseconds(nanos));
      return tcp.socket().accept().getChannel();
    } finally {
      if (!only.isOpen()) {
        close();
      }
    }
  }

  /** Accepts from either; the device can be removed at any time, also while this accepts. */
  private @Nullable SocketChannel acceptEither() throws IOException {
    try {
      return acceptInTurn();
    } catch (IOException e) {
      if (!isOpen() || used.size() == 1 || !rdma.hasEnded()) {
        throw e;
      }
    }
    continueWithTcp();
    return acceptInTurn();
  }

  /** The listeners take turns, so that neither waits while clients of the other keep coming. */
  private @Nullable SocketChannel acceptInTurn() throws IOException {
    SocketChannel accepted = null;
    for (int i = 0; i < used.size() && accepted == null; i++) {
      ServerSocketChannel next = used.get(turn);
      turn = (turn + 1) % used.size();
      accepted = next.accept();
    }
    return accepted;
  }

  /** The device of the address was removed: there is no other one that could have it. */
  private void continueWithTcp() {
    LOG.log(
        System.Logger.Level.WARNING,
        "the RDMA listener at {0} has ended, its device was removed: TCP connections only",
        localAddress());
    turn = 0;
    use(tcp);
  }

  private SocketChannel awaitEither(long nanos) throws IOException {
    long start = Time.now();
    Selector selector = waiting();
    while (true) {
      if (Thread.currentThread().isInterrupted()) {
        close();
        throw new ClosedByInterruptException();
      }
      SocketChannel accepted = acceptUnlessClosed();
      if (accepted != null) {
        return accepted;
      }
      long left = SocketCalls.left(nanos, start, "Accept timed out");
      try {
        int _ = selector.select(key -> {}, SocketCalls.milliseconds(left));
      } catch (ClosedSelectorException e) {
        throw closedMeanwhile(e);
      }
    }
  }

  private @Nullable SocketChannel acceptUnlessClosed() throws IOException {
    try {
      return acceptEither();
    } catch (ClosedChannelException e) {
      throw closedMeanwhile(e);
    }
  }

  private static AsynchronousCloseException closedMeanwhile(Exception cause) {
    AsynchronousCloseException closed = new AsynchronousCloseException();
    closed.initCause(cause);
    return closed;
  }

  /** Returns the selector in which to wait for both listeners, opened at the first wait. */
  private Selector waiting() throws IOException {
    try (var _ = lock.hold()) {
      Failures.requireOpen(this);
      if (waiting == null) {
        waiting = selectorOfBoth();
      }
      return waiting;
    }
  }

  private Selector selectorOfBoth() throws IOException {
    Selector selector = new EventSelector(provider);
    try {
      for (ServerSocketChannel listener : used) {
        listener.register(selector, SelectionKey.OP_ACCEPT);
      }
      return selector;
    } catch (Throwable t) { // With one listener only, connections of the other would wait for ever.
      try (selector) {
        throw t;
      }
    }
  }

  // State

  @Override
  protected void implCloseSelectableChannel() throws IOException {
    keys.forEach(EventKey::attach); // Without the descriptor, before it is closed.
    Selector selector;
    try (var _ = lock.hold()) {
      selector = waiting;
    }
    try (tcp;
        rdma;
        selector) {
      // Closes the selector first, so that the descriptors of the others are closed.
    }
  }

  @Override
  protected void implConfigureBlocking(boolean block) throws IOException {
    try (var _ = acceptLock.hold(); // An accept in progress ends first.
        var _ = lock.hold()) { // Binding sets the mode of the listeners, too.
      Failures.requireOpen(this);
      if (!isPolled) {
        for (ServerSocketChannel listener : used) {
          listener.configureBlocking(block);
        }
      }
    }
  }

  @Override
  public <T> ServerSocketChannel setOption(SocketOption<T> name, T value) throws IOException {
    EitherOptions.set(used, name, value);
    return this;
  }

  @Override
  public <T> T getOption(SocketOption<T> name) throws IOException {
    return EitherOptions.get(used, name);
  }

  @Override
  public Set<SocketOption<?>> supportedOptions() {
    return EitherOptions.names(used);
  }

  @Override
  public ServerSocket socket() {
    return socket;
  }

  // Selection

  @Override
  public List<EventKey> keys() {
    return keys;
  }

  @Override
  public int descriptor() {
    return isOpen() && isBound && used.contains(tcp) ? polledTcp.descriptor() : -1;
  }

  @Override
  public int events(int operations) {
    return (operations & SelectionKey.OP_ACCEPT) != 0 ? EventSet.READABLE : 0;
  }

  @Override
  public boolean isReportedWhileReady() {
    return !used.contains(rdma);
  }

  @Override
  public int readyOperations(int operations, int events) {
    return (used.contains(rdma) ? rdma.readyOperations(operations, events) : 0)
        | (used.contains(tcp) ? polledTcp.readyOperations(operations, events) : 0);
  }

  @Override
  public String toString() {
    String name = RdmaSelectorProvider.class.getPackageName() + ".HybridListener";
    return isOpen() ? name + used : name + "[closed]";
  }
}
