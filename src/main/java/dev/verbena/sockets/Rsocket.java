package dev.verbena.sockets;

import dev.verbena.Errno;
import dev.verbena.VerbsException;
import dev.verbena.internal.Providers;
import dev.verbena.internal.Rpoll;
import dev.verbena.internal.RsocketCalls;
import dev.verbena.internal.Rsockets;
import java.io.IOException;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.net.InetSocketAddress;
import java.nio.channels.ClosedChannelException;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.locks.Condition;
import java.util.concurrent.locks.ReentrantLock;
import org.jspecify.annotations.Nullable;

/**
 * A non-blocking rsocket and the threads that use it.
 *
 * <p>{@code rclose} frees the C object even if another thread uses it, so it is called when all
 * threads have left. {@code rshutdown} sets the descriptor of completion events to blocking mode
 * temporarily, so no thread may be in {@code rpoll} meanwhile.
 */
final class Rsocket {
  /** Without a limit of time. */
  static final long FOREVER = Long.MAX_VALUE;

  /**
   * The interval at which a listening or connecting rsocket is examined. A thread of librdmacm
   * consumes its events, and {@code rpoll} may return half a second later (up to rdma-core 62.0
   * five seconds).
   */
  static final long TICK = 10_000_000;

  static final int SHUT_RD = 0;
  static final int SHUT_WR = 1;

  private static final int PROT_WRITE = 2;

  private static final int SOCK_STREAM = 1;
  private static final int F_SETFL = 4;
  private static final int O_NONBLOCK = 0x800;

  private static final int EINPROGRESS = 115;

  private static final int SOL_SOCKET = 1;
  private static final int SO_ERROR = 4;

  /** The memory that peers can write to. It stays reachable even if its channel is unreachable. */
  private static final Map<Rsocket, List<MemorySegment>> MAPPED = new ConcurrentHashMap<>();

  private final int descriptor;
  private final RsocketCalls calls;
  private final List<RpollSelector> selectors = new CopyOnWriteArrayList<>();

  private final ReentrantLock lock = new ReentrantLock();
  private final Condition changed = lock.newCondition();

  /** The number of threads inside; the fields below are guarded by the lock, too. */
  private int inside;

  /** The number of those that are in {@code rpoll}. */
  private int polling;

  private boolean pollForbidden;
  private boolean closing;

  /** The thread of librdmacm that serves the rsocket; set by a thread inside. */
  private @Nullable ServiceThread served;

  /** Set once a thread has waited. */
  private @Nullable SharedPoll waiter;

  private Rsocket(int descriptor) {
    this.descriptor = descriptor;
    this.calls = new RsocketCalls(descriptor);
  }

  /** Opens an rsocket for streams. */
  static Rsocket open(int family) throws IOException {
    return of(Failures.or(() -> functions().rsocket(family, SOCK_STREAM, 0)));
  }

  /** Wraps a descriptor that {@code rsocket} or {@code raccept} returned. */
  static Rsocket of(int descriptor) throws IOException {
    try {
      // Not SOCK_NONBLOCK: before rdma-core 62.1, rsocket refuses it.
      functions().rfcntl(descriptor, F_SETFL, O_NONBLOCK);
    } catch (VerbsException e) {
      functions().rclose(descriptor);
      throw Failures.of(e);
    }
    return new Rsocket(descriptor);
  }

  static Rsockets functions() {
    return Providers.rsockets();
  }

  int descriptor() {
    return descriptor;
  }

  RsocketCalls calls() {
    return calls;
  }

  void add(RpollSelector selector) {
    selectors.add(selector);
  }

  void remove(RpollSelector selector) {
    selectors.remove(selector);
  }

  /** Enters, unless the rsocket is closed. */
  boolean enter() {
    lock.lock();
    try {
      if (closing) {
        return false;
      }
      inside++;
      return true;
    } finally {
      lock.unlock();
    }
  }

  /** Leaves. */
  void leave() {
    lock.lock();
    try {
      inside--;
      if (closing) {
        changed.signalAll();
      }
    } finally {
      lock.unlock();
    }
  }

  /** Enters {@code rpoll}, unless that is forbidden, or the rsocket closed. */
  boolean tryEnterPoll() {
    lock.lock();
    try {
      if (closing || pollForbidden) {
        return false;
      }
      inside++;
      polling++;
      return true;
    } finally {
      lock.unlock();
    }
  }

  /** Leaves {@code rpoll}. */
  void leavePoll() {
    lock.lock();
    try {
      polling--;
      inside--;
      changed.signalAll();
    } finally {
      lock.unlock();
    }
  }

  /**
   * Waits until the rsocket has one of the events. May return earlier, in particular when the
   * rsocket is closed.
   */
  void await(int events, long nanos) throws IOException {
    SharedPoll shared = SharedPoll.get();
    lock.lock();
    try {
      while (pollForbidden && !closing) {
        changed.awaitUninterruptibly();
      }
      if (closing) {
        return;
      }
      waiter = shared;
    } finally {
      lock.unlock();
    }
    shared.await(this, events, nanos);
  }

  /** Returns which of the events the rsocket has now; 0 if it is closed. */
  int events(Rpoll rpoll, int events) throws IOException {
    if (!tryEnterPoll()) {
      return 0;
    }
    try {
      rpoll.clear();
      rpoll.add(descriptor, events);
      rpoll.now();
      return rpoll.events(0);
    } catch (VerbsException e) {
      throw Failures.of(e);
    } finally {
      leavePoll();
    }
  }

  /** Makes selectors examine the rsocket again, whose state has changed. */
  void interruptSelectors() {
    selectors.forEach(RpollSelector::interruptPoll);
  }

  /** Makes all threads leave {@code rpoll} temporarily, so that they observe a changed state. */
  void wake() {
    withoutPolling(() -> {});
  }

  /** Closes one direction, and waits as {@link #close} does. */
  void shutdown(int how, long nanos) throws IOException {
    ClosingThreads.run(
        () -> inside(() -> withoutPolling(() -> functions().rshutdown(descriptor, how))), nanos);
  }

  private void withoutPolling(Runnable action) {
    lock.lock();
    try {
      while (pollForbidden) {
        changed.awaitUninterruptibly();
      }
      pollForbidden = true;
      signalOut();
      while (polling > 0) {
        changed.awaitUninterruptibly();
      }
    } finally {
      lock.unlock();
    }
    try {
      action.run();
    } finally {
      lock.lock();
      try {
        pollForbidden = false;
        changed.signalAll();
      } finally {
        lock.unlock();
      }
      interruptSelectors();
    }
  }

  /** Makes threads leave {@code rpoll}. */
  private void signalOut() {
    if (waiter != null) {
      waiter.wake(this);
    }
    interruptSelectors();
  }

  /**
   * Closes the rsocket. Waits no longer than a time until the peer has acknowledged all data, and
   * not at all if a thread is inside: then the close is asynchronous, or due to an interrupt.
   */
  void close(long nanos) throws IOException {
    boolean isUnused;
    lock.lock();
    try {
      if (closing) {
        return;
      }
      closing = true;
      isUnused = inside == 0;
      signalOut();
      changed.signalAll();
    } finally {
      lock.unlock();
    }
    ClosingThreads.run(this::rclose, isUnused ? nanos : 0);
  }

  /** Calls {@code rclose} when all threads have left. */
  private void rclose() {
    lock.lock();
    try {
      while (inside > 0) {
        changed.awaitUninterruptibly();
      }
    } finally {
      lock.unlock();
    }
    try {
      unmapAll();
      functions().rclose(descriptor);
    } finally {
      if (served != null) {
        served.release();
      }
    }
  }

  /**
   * Unmaps memory that is still mapped: {@code rclose} would loop forever, since {@code rs_free}
   * releases the descriptor before it calls {@code riounmap} with it.
   */
  private void unmapAll() {
    List<MemorySegment> mapped = MAPPED.remove(this);
    if (mapped != null) {
      mapped.forEach(m -> functions().riounmap(descriptor, m.address(), m.byteSize()));
    }
  }

  /** Returns the error of the connection, and clears it; 0 for none. */
  int takeError() throws IOException {
    return option(SOL_SOCKET, SO_ERROR);
  }

  /** Sets an option of the type {@code int}. */
  void setOption(int level, int name, int value) throws IOException {
    try (Arena arena = Arena.ofConfined()) {
      long memory = arena.allocateFrom(ValueLayout.JAVA_INT, value).address();
      inside(() -> functions().rsetsockopt(descriptor, level, name, memory, Integer.BYTES));
    }
  }

  /** Returns an option of the type {@code int}. */
  int option(int level, int name) throws IOException {
    try (Arena arena = Arena.ofConfined()) {
      MemorySegment value = arena.allocate(ValueLayout.JAVA_INT);
      long length = arena.allocateFrom(ValueLayout.JAVA_INT, Integer.BYTES).address();
      inside(() -> functions().rgetsockopt(descriptor, level, name, value.address(), length));
      return value.get(ValueLayout.JAVA_INT, 0);
    }
  }

  /** Lets the peer write into memory. */
  void map(MemorySegment memory, long offset) throws IOException {
    inside(
        () -> {
          try {
            long unused =
                functions()
                    .riomap(descriptor, memory.address(), memory.byteSize(), PROT_WRITE, 0, offset);
            assert unused == offset;
            MAPPED.computeIfAbsent(this, r -> new CopyOnWriteArrayList<>()).add(memory);
          } catch (VerbsException e) {
            throw e.errno() == Errno.ENOMEM
                ? e.explained("the peer must set RDMA_IOMAPSIZE before the channel is connected")
                : e;
          }
        });
  }

  /** Ends the access of the peer to memory. */
  void unmap(MemorySegment memory) throws IOException {
    inside(
        () -> {
          functions().riounmap(descriptor, memory.address(), memory.byteSize());
          MAPPED.computeIfPresent(
              this,
              (r, mapped) -> {
                mapped.remove(memory);
                return mapped;
              });
        });
  }

  /** Returns the local address. */
  InetSocketAddress localAddress() throws IOException {
    return Addresses.read(
        (address, size) -> inside(() -> functions().rgetsockname(descriptor, address, size)));
  }

  /** Returns the address of the peer. */
  InetSocketAddress peerAddress() throws IOException {
    return Addresses.read(
        (address, size) -> inside(() -> functions().rgetpeername(descriptor, address, size)));
  }

  /** Begins to connect; returns whether the connection is established already. */
  boolean connect(InetSocketAddress remote) throws IOException {
    try (Arena arena = Arena.ofConfined()) {
      MemorySegment address = Addresses.write(remote, arena);
      if (!enter()) {
        throw new ClosedChannelException();
      }
      try {
        takePlace(ServiceThread.CONNECTED);
        functions().rconnect(descriptor, address.address(), (int) address.byteSize());
        return true;
      } catch (VerbsException e) {
        if (e.errno() == EINPROGRESS) {
          return false;
        }
        throw Failures.ofConnect(e.errno(), remote, e);
      } finally {
        leave();
      }
    }
  }

  /** Binds to a local address. */
  void bind(InetSocketAddress local) throws IOException {
    try (Arena arena = Arena.ofConfined()) {
      MemorySegment address = Addresses.write(local, arena);
      inside(
          () -> {
            try {
              functions().rbind(descriptor, address.address(), (int) address.byteSize());
            } catch (VerbsException e) {
              throw Failures.ofBind(e, local);
            }
          });
    }
  }

  /** Listens for connections. */
  void listen(int backlog, InetSocketAddress local) throws IOException {
    inside(
        () -> {
          takePlace(ServiceThread.LISTENING);
          try {
            functions().rlisten(descriptor, backlog);
          } catch (VerbsException e) {
            throw Failures.ofBind(e, local);
          }
        });
  }

  /** Accepts a connection; returns null if there is none. The caller must be inside. */
  @Nullable Rsocket accept() throws IOException {
    ServiceThread.CONNECTED.acquire();
    Rsocket accepted = null;
    try {
      accepted = of(functions().raccept(descriptor, 0, 0));
      accepted.served = ServiceThread.CONNECTED;
    } catch (VerbsException e) {
      if (e.errno() != Errno.EAGAIN) {
        throw Failures.of(e);
      }
    } finally {
      if (accepted == null) {
        ServiceThread.CONNECTED.release();
      }
    }
    return accepted;
  }

  /** A call of a function of the rsocket. */
  private interface Call {
    void run() throws IOException;
  }

  /** Calls a function while no other thread can close the rsocket. */
  private void inside(Call call) throws IOException {
    if (!enter()) {
      throw new ClosedChannelException();
    }
    try {
      call.run();
    } catch (VerbsException e) {
      throw Failures.of(e);
    } finally {
      leave();
    }
  }

  /** Registers with the thread of librdmacm that serves the rsocket, until {@code rclose}. */
  private void takePlace(ServiceThread thread) throws IOException {
    if (served == null) {
      thread.acquire();
      served = thread;
    }
  }

  @Override
  public String toString() {
    return "rsocket " + descriptor;
  }
}
