package dev.verbena.aeron;

import io.aeron.exceptions.AeronEvent;
import io.aeron.exceptions.AeronException;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.net.DatagramSocket;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.NetworkInterface;
import java.net.PortUnreachableException;
import java.net.SocketAddress;
import java.net.SocketOption;
import java.nio.ByteBuffer;
import java.nio.channels.DatagramChannel;
import java.nio.channels.MembershipKey;
import java.util.Set;

/**
 * A socket of a driver that sends by RDMA where its {@link Rendezvous} has found a path, and
 * receives from both. It keeps the real socket, with its port and its options.
 */
final class RdmaChannel extends DatagramChannel {
  /** How often the socket is polled while messages come by RDMA, and while frames come by both. */
  private static final int POLLS_OF_RDMA = 16;

  private static final int POLLS_OF_BOTH = 2;

  private static final long MAX_WITHOUT_SOCKET_NS = 1_000_000;

  /** How many messages that are not for Aeron are handled in one call. */
  private static final int MAX_SKIPPED = 16;

  private static final int BY_UDP = -1;
  private static final long REPORT_AFTER_NS = 5_000_000_000L;

  private final DatagramChannel socket;
  private final DatagramChannel receiving;
  private final Side side;
  private final TransportCounters counters;
  private final Queues queues;
  private final boolean isMember;
  private final Rendezvous rendezvous;

  private InetSocketAddress connected;
  private int polls;

  /** Whether the last poll of the socket found a frame, so that the next one may, too. */
  private boolean hasSocketMore;

  /** The index of the queue that was looked at last. */
  private int lookedAt;

  /** The queue of the message that is received next, if it was found before, and its sender. */
  private DatagramQueue ready;

  private InetSocketAddress sender;

  /** The queue of the message that was received last; null if it came by UDP. */
  private DatagramQueue last;

  private long lastSocketPoll;

  /**
   * Creates a channel.
   *
   * @param receiving the socket that receives, which is another one for multicast
   * @param group the group whose messages it sends or receives by RDMA; null if it is not one of a
   *     group
   */
  RdmaChannel(DatagramChannel socket, DatagramChannel receiving, Group group, Side side)
      throws IOException {
    super(socket.provider());
    this.socket = socket;
    this.receiving = receiving;
    this.side = side;
    this.counters = side.counters();
    this.queues = new Queues(socket, side.receiveSlots(), group);
    this.isMember = group != null && group.isMember();
    this.rendezvous = new Rendezvous(socket, queues, side);
    this.connected = (InetSocketAddress) socket.getRemoteAddress();
  }

  // Sending

  @Override
  public int write(ByteBuffer data) throws IOException {
    int sent = connected == null ? BY_UDP : sendByRdma(data, connected);
    return sent == BY_UDP ? socket.write(data) : sent;
  }

  @Override
  public int send(ByteBuffer data, SocketAddress target) throws IOException {
    int sent = sendByRdma(data, (InetSocketAddress) target);
    return sent == BY_UDP ? socket.send(data, target) : sent;
  }

  /**
   * Sends a frame by RDMA.
   *
   * @return the number of bytes, 0 if the queue is full; {@link #BY_UDP} if it is to be sent so
   */
  private int sendByRdma(ByteBuffer frame, InetSocketAddress to) {
    if (!isOpen()) {
      return BY_UDP; // The socket says that it is closed.
    }
    if (isMember) {
      counters.sentByUdp.incrementRelease();
      return BY_UDP;
    }
    long now = side.clock().nanoTime();
    Path path = rendezvous.pathTo(to, now);
    if (path != null) {
      if (now - path.nextStep >= 0) {
        rendezvous.step(path, now);
      }
      path.lastUse = now;
      if (rendezvous.admits(path, frame)) {
        int length = frame.remaining();
        if (path.send(frame)) {
          frame.position(frame.limit());
          counters.sentByRdma.incrementRelease();
          return length;
        }
        if (path.queue().failure() == null) {
          return 0; // Aeron sends the frame again.
        }
        rendezvous.onFailure(path.queue(), now);
      }
    }
    if ((path == null ? side.rules().of(to) : path.rule) == Rules.Rule.RDMA_ONLY) {
      return drop(path, frame, now);
    }
    counters.sentByUdp.incrementRelease();
    return BY_UDP;
  }

  private int drop(Path path, ByteBuffer frame, long now) {
    if (path != null && !path.isReported && now - path.created > REPORT_AFTER_NS) {
      path.isReported = true;
      String reason = path.peer + " has the rule rdma-only and is not reached: " + path.obstacle;
      AeronEvent event = new AeronEvent(reason, AeronException.Category.WARN);
      side.context().countedErrorHandler().onError(event);
    }
    int length = frame.remaining();
    frame.position(frame.limit());
    counters.dropped.incrementRelease();
    return length;
  }

  // Receiving

  /** Receives a frame as a transport of Aeron does; null if there is none. */
  InetSocketAddress receiveInto(ByteBuffer buffer) {
    buffer.clear();
    try {
      return isOpen() ? (InetSocketAddress) receive(buffer) : null;
    } catch (PortUnreachableException e) {
      return null; // Nobody listens at the other end yet, which Aeron ignores, too.
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }

  @Override
  public SocketAddress receive(ByteBuffer target) throws IOException {
    long now = side.clock().nanoTime();
    rendezvous.tick(now);
    if (ready != null && ready.failure() == null) {
      return take(target);
    }
    ready = null;
    boolean isSocketDue =
        ++polls >= (hasSocketMore ? POLLS_OF_BOTH : POLLS_OF_RDMA)
            || now - lastSocketPoll >= MAX_WITHOUT_SOCKET_NS;
    if (isSocketDue) {
      InetSocketAddress from = receiveByUdp(target, now);
      if (from != null) {
        return from;
      }
    }
    DatagramQueue[] all = queues.all();
    for (int i = 0; i < all.length; i++) { // Each in turn, so that none waits for a busy one.
      lookedAt = lookedAt + 1 < all.length ? lookedAt + 1 : 0;
      DatagramQueue queue = all[lookedAt];
      if (find(queue, true)) {
        return take(target);
      }
      if (queue.failure() != null) {
        rendezvous.onFailure(queue, now);
      }
    }
    boolean isSocketLikely = hasSocketMore || !rendezvous.isReachable();
    return isSocketLikely && !isSocketDue ? receiveByUdp(target, now) : null;
  }

  /**
   * Looks for the next message for Aeron in a queue, and handles those before it.
   *
   * @param maySearch whether to look for messages that have not been polled yet
   */
  private boolean find(DatagramQueue queue, boolean maySearch) {
    for (int i = 0; i < MAX_SKIPPED && (maySearch || queue.hasMore()) && queue.next(); i++) {
      sender = rendezvous.sourceOf(queue);
      if (sender != null) {
        ready = queue;
        return true;
      }
    }
    return false;
  }

  /** Copies the message that was found; what is too long for the target is lost. */
  private InetSocketAddress take(ByteBuffer target) {
    int length = Math.min(ready.length(), target.remaining());
    target.put(target.position(), ready.memory(), ready.offset(), length);
    target.position(target.position() + length);
    counters.receivedByRdma.incrementRelease();
    last = ready;
    ready = null;
    return sender;
  }

  /** Returns whether another message for Aeron has arrived with the last one. */
  boolean hasMore() {
    return ready != null || (last != null && find(last, false));
  }

  private InetSocketAddress receiveByUdp(ByteBuffer target, long now) throws IOException {
    polls = 0;
    lastSocketPoll = now;
    last = null;
    int at = target.position();
    InetSocketAddress from = receiveFromSocket(target, now);
    hasSocketMore = from != null;
    if (from != null && rendezvous.onDatagram(target, at, target.position() - at, from, now)) {
      target.position(at);
      return null;
    }
    return from;
  }

  private InetSocketAddress receiveFromSocket(ByteBuffer target, long now) throws IOException {
    try {
      return (InetSocketAddress) receiving.receive(target);
    } catch (PortUnreachableException e) {
      hasSocketMore = false;
      if (connected != null) {
        rendezvous.onUnreachable(connected, now);
      }
      throw e;
    }
  }

  // The connection

  @Override
  public DatagramChannel connect(SocketAddress remote) throws IOException {
    socket.connect(remote);
    connected = (InetSocketAddress) remote;
    return this;
  }

  @Override
  public DatagramChannel disconnect() throws IOException {
    socket.disconnect();
    connected = null;
    rendezvous.forget(side.clock().nanoTime());
    return this;
  }

  @Override
  protected void implCloseSelectableChannel() throws IOException {
    try {
      rendezvous.close(side.clock().nanoTime());
    } finally {
      queues.close();
      socket.close();
      receiving.close();
    }
  }

  // What the socket does

  @Override
  public DatagramChannel bind(SocketAddress local) throws IOException {
    socket.bind(local);
    return this;
  }

  @Override
  public <T> DatagramChannel setOption(SocketOption<T> name, T value) throws IOException {
    socket.setOption(name, value);
    return this;
  }

  @Override
  public <T> T getOption(SocketOption<T> name) throws IOException {
    return socket.getOption(name);
  }

  @Override
  public Set<SocketOption<?>> supportedOptions() {
    return socket.supportedOptions();
  }

  @Override
  public DatagramSocket socket() {
    return socket.socket();
  }

  @Override
  public boolean isConnected() {
    return socket.isConnected();
  }

  @Override
  public SocketAddress getRemoteAddress() throws IOException {
    return socket.getRemoteAddress();
  }

  @Override
  public SocketAddress getLocalAddress() throws IOException {
    return socket.getLocalAddress();
  }

  @Override
  public MembershipKey join(InetAddress group, NetworkInterface by) throws IOException {
    return socket.join(group, by);
  }

  @Override
  public MembershipKey join(InetAddress group, NetworkInterface by, InetAddress source)
      throws IOException {
    return socket.join(group, by, source);
  }

  @Override
  protected void implConfigureBlocking(boolean block) throws IOException {
    socket.configureBlocking(block);
  }

  // What Aeron does not call

  @Override
  public int read(ByteBuffer target) {
    throw new UnsupportedOperationException("Aeron calls receive");
  }

  @Override
  public long read(ByteBuffer[] targets, int offset, int length) {
    throw new UnsupportedOperationException("Aeron calls receive");
  }

  @Override
  public long write(ByteBuffer[] data, int offset, int length) {
    throw new UnsupportedOperationException("Aeron writes one buffer");
  }
}
