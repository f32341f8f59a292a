package dev.verbena.disni;

import com.ibm.disni.verbs.IbvCQ;
import com.ibm.disni.verbs.IbvCompChannel;
import com.ibm.disni.verbs.IbvContext;
import com.ibm.disni.verbs.IbvMr;
import com.ibm.disni.verbs.IbvPd;
import com.ibm.disni.verbs.IbvQP;
import com.ibm.disni.verbs.IbvRecvWR;
import com.ibm.disni.verbs.IbvSendWR;
import com.ibm.disni.verbs.IbvWC;
import com.ibm.disni.verbs.RdmaVerbs;
import com.ibm.disni.verbs.SVCDeregMr;
import com.ibm.disni.verbs.SVCPollCq;
import com.ibm.disni.verbs.SVCPostRecv;
import com.ibm.disni.verbs.SVCPostSend;
import com.ibm.disni.verbs.SVCRegMr;
import com.ibm.disni.verbs.SVCReqNotify;
import dev.verbena.attributes.OdpCapabilities;
import dev.verbena.attributes.OdpOperation;
import dev.verbena.verbs.CompletionQueue;
import dev.verbena.verbs.Context;
import java.io.IOException;
import java.lang.foreign.MemorySegment;
import java.nio.ByteBuffer;
import java.util.List;

/** DiSNI's verbs over {@code dev.verbena.verbs}. */
final class BridgeVerbs extends RdmaVerbs {
  private static final int UNSUPPORTED = -1;

  @Override
  public IbvPd allocPd(IbvContext context) throws IOException {
    Context own = BridgeContext.of(context);
    return new BridgePd(context, Failures.io(own::allocateProtectionDomain));
  }

  @Override
  public IbvCompChannel createCompChannel(IbvContext context) throws IOException {
    Context own = BridgeContext.of(context);
    return new BridgeCompChannel(context, Failures.io(own::createCompletionChannel));
  }

  @Override
  public IbvCQ createCQ(IbvContext context, IbvCompChannel compChannel, int ncqe, int compVector)
      throws IOException {
    Context own = BridgeContext.of(context);
    BridgeCompChannel channel = BridgeCompChannel.of(compChannel);
    CompletionQueue queue =
        Failures.io(
            () ->
                own.completionQueue(ncqe)
                    .channel(channel.channel())
                    .vector(compVector)
                    .withoutCapacityWarning()
                    .create());
    return new BridgeCq(context, channel, queue);
  }

  @Override
  public boolean getCqEvent(IbvCompChannel compChannel, IbvCQ cq, int timeout) throws IOException {
    return BridgeCompChannel.of(compChannel).awaitEvent(timeout);
  }

  @Override
  public SVCRegMr regMr(IbvPd pd, ByteBuffer buffer, int access) throws IOException {
    if (buffer == null || !buffer.isDirect()) {
      throw new IOException(
          "memory to register must be a direct buffer, of ByteBuffer.allocateDirect: " + buffer);
    }
    return new RegMr(BridgePd.of(pd), MemorySegment.ofBuffer(buffer.duplicate().clear()), access);
  }

  @Override
  public SVCRegMr regMr(IbvPd pd, long address, int length, int access) throws IOException {
    if (address == 0 || length < 1) {
      throw new IOException(
          "memory to register must have an address and a length: %d bytes at 0x%x"
              .formatted(length, address));
    }
    return new RegMr(BridgePd.of(pd), MemorySegment.ofAddress(address).reinterpret(length), access);
  }

  @Override
  public int queryOdpSupport(IbvContext context) throws IOException {
    Context own = BridgeContext.of(context);
    OdpCapabilities paging = Failures.io(() -> own.deviceAttributes().onDemandPaging());
    return paging.supported()
        ? (int) paging.rc().stream().mapToLong(OdpOperation::bit).sum()
        : UNSUPPORTED;
  }

  @Override
  public int expPrefetchMr(IbvMr mr, long address, int length) throws IOException {
    return BridgeMr.of(mr).prefetch(address, length);
  }

  @Override
  public SVCDeregMr deregMr(IbvMr mr) throws IOException {
    return new DeregMr(Failures.own(BridgeMr.class, mr, "memory region"));
  }

  @Override
  public SVCPostSend postSend(IbvQP qp, List<IbvSendWR> wrList, List<IbvSendWR> badwrList)
      throws IOException {
    return PostSend.of(BridgeQp.of(qp), wrList, badwrList);
  }

  @Override
  public SVCPostRecv postRecv(IbvQP qp, List<IbvRecvWR> wrList, List<IbvRecvWR> badwrList)
      throws IOException {
    return PostRecv.of(BridgeQp.of(qp), wrList, badwrList);
  }

  @Override
  public SVCPollCq pollCQ(IbvCQ cq, IbvWC[] wcList, int ne) throws IOException {
    BridgeCq own = BridgeCq.of(cq, "completion queue");
    if (wcList == null || ne < 0 || ne > wcList.length) {
      throw new IOException(
          "%d completions do not fit into an array of %s"
              .formatted(ne, wcList == null ? "null" : wcList.length));
    }
    return new PollCq(own, wcList, ne);
  }

  @Override
  public SVCReqNotify reqNotifyCQ(IbvCQ cq, boolean solicitedOnly) throws IOException {
    return new ReqNotify(BridgeCq.of(cq, "completion queue"), solicitedOnly);
  }

  /** The library acknowledges the events of a queue itself. */
  @Override
  public int ackCqEvents(IbvCQ cq, int nevents) throws IOException {
    BridgeCq.of(cq, "completion queue");
    return 0;
  }

  @Override
  public int destroyCompChannel(IbvCompChannel compChannel) throws IOException {
    return BridgeCompChannel.of(compChannel).destroy();
  }

  @Override
  public int deallocPd(IbvPd pd) throws IOException {
    return BridgePd.of(pd).destroy();
  }

  @Override
  public int destroyCQ(IbvCQ cq) throws IOException {
    return BridgeCq.of(cq, "completion queue").destroy();
  }
}
