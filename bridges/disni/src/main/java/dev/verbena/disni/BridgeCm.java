package dev.verbena.disni;

import com.ibm.disni.verbs.IbvPd;
import com.ibm.disni.verbs.IbvQP;
import com.ibm.disni.verbs.IbvQPCap;
import com.ibm.disni.verbs.IbvQPInitAttr;
import com.ibm.disni.verbs.RdmaCm;
import com.ibm.disni.verbs.RdmaCmEvent;
import com.ibm.disni.verbs.RdmaCmId;
import com.ibm.disni.verbs.RdmaConnParam;
import com.ibm.disni.verbs.RdmaEventChannel;
import dev.verbena.VerbsException;
import dev.verbena.cm.ConnectionParameters;
import dev.verbena.cm.EventChannel;
import dev.verbena.cm.PortSpace;
import dev.verbena.values.QueuePairCapacity;
import dev.verbena.values.QueuePairType;
import dev.verbena.verbs.Context;
import dev.verbena.verbs.QueuePair;
import dev.verbena.verbs.QueuePairBuilder;
import java.io.IOException;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.net.InetSocketAddress;
import java.net.SocketAddress;
import java.time.Duration;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;

/** DiSNI's RDMA CM over {@code dev.verbena.cm}. */
final class BridgeCm extends RdmaCm {
  /** The SGEs of each work request of DiSNI's queue pairs, whatever the attributes say. */
  private static final int SGES = 4;

  /** The kernel takes greater counts as this one. */
  private static final int MOST_RETRIES = 7;

  private static final Map<Context, BridgeContext> CONTEXTS = new ConcurrentHashMap<>();

  /** Returns the one object for a context: programs compare them. */
  static BridgeContext context(Context context) throws IOException {
    BridgeContext known = CONTEXTS.get(context);
    if (known == null) {
      CONTEXTS.putIfAbsent(context, BridgeContext.of(context));
      known = CONTEXTS.get(context);
    }
    return known;
  }

  @Override
  public RdmaEventChannel createEventChannel() throws IOException {
    return new BridgeEventChannel(Failures.io(EventChannel::open));
  }

  @Override
  public RdmaCmId createId(RdmaEventChannel cmChannel, short rdmaPs) throws IOException {
    BridgeEventChannel channel = BridgeEventChannel.of(cmChannel);
    return channel.createId(
        switch (rdmaPs) {
          case RDMA_PS_TCP -> PortSpace.TCP;
          case RDMA_PS_UDP -> PortSpace.UDP;
          case RDMA_PS_IPOIB -> PortSpace.IPOIB;
          default ->
              throw new IOException(
                  "unknown port space 0x"
                      + Integer.toHexString(rdmaPs)
                      + ": use RdmaCm.RDMA_PS_TCP or RDMA_PS_UDP");
        });
  }

  @Override
  public IbvQP createQP(RdmaCmId cmId, IbvPd pd, IbvQPInitAttr attr) throws IOException {
    BridgeCmId id = BridgeCmId.of(cmId);
    BridgePd domain = BridgePd.of(pd);
    if (attr == null) {
      throw new IOException("the attributes of the queue pair are null");
    }
    BridgeCq sends = BridgeCq.of(attr.getSend_cq(), "completion queue of sends");
    BridgeCq receives = BridgeCq.of(attr.getRecv_cq(), "completion queue of receives");
    if (attr.getSrq() != 0) {
      throw new IOException("a shared receive queue cannot be used: DiSNI has no call to make one");
    }
    QueuePairBuilder builder =
        Failures.io(
            () ->
                QueuePair.builder(domain.domain(), type(attr.getQp_type()))
                    .sendCompletions(sends.queue())
                    .receiveCompletions(receives.queue())
                    .capacity(capacity(attr.cap())));
    if (attr.getSq_sig_all() != 0) {
      builder.signalAll();
    }
    QueuePair pair = Failures.io(() -> id.id().queues().createQueuePair(builder));
    BridgeQp own = new BridgeQp(pair, domain, sends, receives);
    id.queuePair(own);
    return own;
  }

  private static QueuePairType type(byte code) {
    return switch (code) {
      case IbvQP.IBV_QPT_RC -> QueuePairType.RC;
      case IbvQP.IBV_QPT_UC -> QueuePairType.UC;
      case IbvQP.IBV_QPT_UD -> QueuePairType.UD;
      default ->
          throw new IllegalArgumentException(
              "unknown type of a queue pair: " + code + "; use IbvQP.IBV_QPT_RC, _UC or _UD");
    };
  }

  private static QueuePairCapacity capacity(IbvQPCap cap) {
    return QueuePairCapacity.of(1)
        .withSendRequests(cap.getMax_send_wr())
        .withReceiveRequests(cap.getMax_recv_wr())
        .withSendSges(Math.max(SGES, cap.getMax_send_sge()))
        .withReceiveSges(Math.max(SGES, cap.getMax_recv_sge()))
        .withMaxInlineData(cap.getMax_inline_data());
  }

  @Override
  public void bindAddr(RdmaCmId cmId, SocketAddress addr) throws IOException {
    BridgeCmId id = BridgeCmId.of(cmId);
    InetSocketAddress local = address(addr);
    Failures.run(() -> id.id().bind(local));
  }

  @Override
  public void listen(RdmaCmId cmId, int backlog) throws IOException {
    BridgeCmId id = BridgeCmId.of(cmId);
    Failures.run(() -> id.id().listen(backlog));
  }

  @Override
  public void resolveAddr(RdmaCmId cmId, SocketAddress src, SocketAddress dst, int timeout)
      throws IOException {
    BridgeCmId id = BridgeCmId.of(cmId);
    InetSocketAddress local = src == null ? null : address(src);
    InetSocketAddress peer = address(dst);
    Failures.run(() -> id.id().resolveAddress(local, peer, Duration.ofMillis(timeout)));
  }

  private static InetSocketAddress address(SocketAddress address) throws IOException {
    if (address instanceof InetSocketAddress ip && !ip.isUnresolved()) {
      return ip;
    }
    throw new IOException("not the IP address and port of an RDMA device: " + address);
  }

  @Override
  public void resolveRoute(RdmaCmId cmId, int timeout) throws IOException {
    BridgeCmId id = BridgeCmId.of(cmId);
    Failures.run(() -> id.id().resolveRoute(Duration.ofMillis(timeout)));
  }

  @Override
  public RdmaCmEvent getCmEvent(RdmaEventChannel cmChannel, int timeout) throws IOException {
    return BridgeEventChannel.of(cmChannel).awaitEvent(timeout);
  }

  @Override
  public void connect(RdmaCmId cmId, RdmaConnParam connParam) throws IOException {
    BridgeCmId id = BridgeCmId.of(cmId);
    ConnectionParameters parameters = parameters(connParam);
    byte[] data = privateData(connParam);
    Failures.run(() -> id.id().connect(parameters, data));
  }

  @Override
  public void accept(RdmaCmId cmId, RdmaConnParam connParam) throws IOException {
    BridgeCmId id = BridgeCmId.of(cmId);
    ConnectionParameters parameters = parameters(connParam);
    byte[] data = privateData(connParam);
    Failures.run(() -> id.id().accept(parameters, data));
  }

  /** As DiSNI's library: as many reads as the device can, and the retry counts of the program. */
  private static ConnectionParameters parameters(RdmaConnParam param) throws IOException {
    if (param == null) {
      throw new IOException("the connection parameters are null");
    }
    return ConnectionParameters.DEFAULT
        .withRetryCount(retries(param.getRetry_count()))
        .withRnrRetryCount(retries(param.getRnr_retry_count()));
  }

  private static int retries(byte count) {
    return Math.min(Byte.toUnsignedInt(count), MOST_RETRIES);
  }

  private static byte[] privateData(RdmaConnParam param) throws IOException {
    int length = Byte.toUnsignedInt(param.getPrivate_data_len());
    if (length == 0) {
      return new byte[0];
    }
    if (param.getPrivate_data() == 0) {
      throw new IOException(length + " bytes of private data have no address");
    }
    return MemorySegment.ofAddress(param.getPrivate_data())
        .reinterpret(length)
        .toArray(ValueLayout.JAVA_BYTE);
  }

  /** The library has acknowledged the event when it was read. */
  @Override
  public int ackCmEvent(RdmaCmEvent cmEvent) {
    return 0;
  }

  /** Returns -1 as librdmacm does, for example if the peer disconnected at the same time. */
  @Override
  public int disconnect(RdmaCmId cmId) throws IOException {
    BridgeCmId id = BridgeCmId.of(cmId);
    return Failures.io(
        () -> {
          try {
            id.id().disconnect();
            return 0;
          } catch (VerbsException e) {
            return -1;
          }
        });
  }

  @Override
  public int destroyEventChannel(RdmaEventChannel cmChannel) throws IOException {
    return BridgeEventChannel.of(cmChannel).destroy();
  }

  @Override
  public int destroyCmId(RdmaCmId cmId) throws IOException {
    return BridgeCmId.of(cmId).destroy();
  }

  @Override
  public int destroyQP(RdmaCmId cmId) throws IOException {
    return BridgeQp.of(BridgeCmId.of(cmId).getQp()).destroy();
  }

  @Override
  public SocketAddress getSrcAddr(RdmaCmId cmId) throws IOException {
    BridgeCmId id = BridgeCmId.of(cmId);
    return Failures.io(() -> id.id().localAddress().orElse(new InetSocketAddress(0)));
  }

  @Override
  public SocketAddress getDstAddr(RdmaCmId cmId) throws IOException {
    BridgeCmId id = BridgeCmId.of(cmId);
    return Failures.io(() -> id.id().peerAddress().orElse(new InetSocketAddress(0)));
  }

  @Override
  public int destroyEp(RdmaCmId cmId) throws IOException {
    return BridgeCmId.of(cmId).destroy();
  }
}
