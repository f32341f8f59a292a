package dev.verbena.sockets;

import dev.verbena.internal.Providers;
import dev.verbena.internal.time.Time;
import java.io.IOException;
import java.net.BindException;
import java.net.InetSocketAddress;
import java.net.SocketTimeoutException;
import java.nio.channels.ClosedChannelException;
import java.nio.channels.SocketChannel;
import java.util.concurrent.TimeUnit;
import org.jspecify.annotations.Nullable;

/**
 * An attempt to connect a channel: by RDMA, by TCP, or by RDMA and then by TCP. Called with the
 * lock of the channel held.
 */
final class HybridConnect {
  /** How long a connection by RDMA is waited for, if TCP can take its place. */
  private static final long LIMIT =
      TimeUnit.MILLISECONDS.toNanos(Long.getLong("dev.verbena.sockets.fallback", 5000));

  private final SocketChannel tcp;
  private final StreamChannel rdma;
  private final InetSocketAddress target;
  private final Rule rule;
  private final boolean isByRdma;
  private final boolean mayFallBack;
  private final long start = Time.now();

  /** Why there is no connection by RDMA. */
  private @Nullable IOException ofRdma;

  /** Why there is no connection. */
  private volatile @Nullable IOException failure;

  /**
   * Makes an attempt.
   *
   * @param isTcpPossible false if the local address is none of TCP
   */
  HybridConnect(
      SocketChannel tcp, StreamChannel rdma, boolean isTcpPossible, InetSocketAddress target) {
    this.tcp = tcp;
    this.rdma = rdma;
    this.target = target;
    rule = Rules.configured().of(target);
    boolean isOnly = rule.transport() == Rule.Transport.RDMA_ONLY || !isTcpPossible;
    isByRdma = isOnly || (rule.transport() != Rule.Transport.TCP && Providers.mayReach(target));
    mayFallBack = !isOnly;
  }

  /** Returns whether the attempt begins by RDMA. */
  boolean isByRdma() {
    return isByRdma;
  }

  /** Returns whether the attempt has failed, so that {@link #throwFailure} would throw. */
  boolean hasFailed() {
    return failure != null;
  }

  void throwFailure() throws IOException {
    if (failure != null) {
      throw failure;
    }
  }

  /**
   * Connects by RDMA; the channel is blocking.
   *
   * @return false to go on by TCP
   */
  boolean byRdma(long nanos) throws IOException {
    try {
      bind();
      return rdma.connect(target, mayFallBack ? Math.min(nanos, LIMIT) : nanos);
    } catch (IOException e) {
      notByRdma(e);
      return false;
    }
  }

  /**
   * Begins to connect by RDMA; the channel is non-blocking.
   *
   * @param changed is told when the limit has passed
   * @return false to go on by TCP
   */
  boolean beginByRdma(Runnable changed) throws IOException {
    try {
      bind();
      boolean _ = rdma.connect(target);
    } catch (IOException e) {
      notByRdma(e);
      return false;
    }
    if (mayFallBack) {
      Time.after(LIMIT, changed);
    }
    return true;
  }

  /** Throws the failure of RDMA again, unless TCP can take its place. */
  private void notByRdma(IOException e) throws IOException {
    if (!mayFallBack || e instanceof ClosedChannelException) {
      throw e;
    }
    ofRdma = e;
  }

  /** Binds the channel over RDMA to the address of the one over TCP. */
  private void bind() throws IOException {
    InetSocketAddress local = (InetSocketAddress) tcp.getLocalAddress();
    if (local == null || local.getAddress().isAnyLocalAddress()) {
      return; // RDMA CM finds the address of the device that reaches the peer.
    }
    try {
      rdma.bind(local);
    } catch (BindException e) {
      if (!Failures.isOfPort(e)) {
        throw e;
      }
      rdma.bind(new InetSocketAddress(local.getAddress(), 0));
    }
  }

  /**
   * Continues a connection by RDMA; waits for it until the limit, if the channel is blocking.
   *
   * @return false to {@link #fallBack} to TCP
   */
  boolean continueByRdma() {
    if (hasFailed()) {
      return true;
    }
    try {
      long left = mayFallBack ? LIMIT - (Time.now() - start) : SocketCalls.FOREVER;
      if (!rdma.finishConnect(left) && left <= 0) {
        throw noAnswer();
      }
      return true;
    } catch (IOException e) {
      try {
        notByRdma(e instanceof SocketTimeoutException ? noAnswer() : e);
        return false;
      } catch (IOException last) {
        failure = last;
        return true;
      }
    }
  }

  private static SocketTimeoutException noAnswer() {
    return new SocketTimeoutException(
        "no answer by RDMA within %d ms".formatted(TimeUnit.NANOSECONDS.toMillis(LIMIT)));
  }

  /** Begins to connect by TCP after RDMA. */
  void fallBack() {
    try {
      beginByTcp();
    } catch (IOException e) {
      failure = e;
    }
  }

  /** Begins to connect by TCP; connects if the channel is blocking. */
  void beginByTcp() throws IOException {
    rdma.close();
    try {
      boolean _ = tcp.connect(target);
    } catch (IOException e) {
      throw explained(e);
    }
  }

  /** Connects by TCP; the channel is blocking. */
  void byTcp(long nanos) throws IOException {
    rdma.close();
    try {
      if (nanos == SocketCalls.FOREVER) {
        boolean _ = tcp.connect(target);
      } else {
        long left = SocketCalls.left(nanos, start, "Connect timed out");
        tcp.socket().connect(target, SocketCalls.milliseconds(left));
      }
    } catch (IOException e) {
      throw explained(e);
    }
  }

  boolean finishByTcp() throws IOException {
    try {
      return tcp.finishConnect();
    } catch (IOException e) {
      throw explained(e);
    }
  }

  private IOException explained(IOException ofTcp) {
    if (ofRdma != null) {
      ofTcp.addSuppressed(ofRdma);
    }
    return ofTcp;
  }

  /** Reports the decision, and closes the other channel. */
  void finished(SocketChannel used) {
    boolean isRdma = used.equals(rdma);
    TransportLog.closeUnused(isRdma ? tcp : rdma);
    TransportLog.report("connection to", target, isRdma ? "RDMA" : "TCP", rule, ofRdma);
  }
}
