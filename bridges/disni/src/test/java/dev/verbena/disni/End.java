package dev.verbena.disni;

import com.ibm.disni.util.MemoryUtils;
import com.ibm.disni.verbs.IbvCQ;
import com.ibm.disni.verbs.IbvCompChannel;
import com.ibm.disni.verbs.IbvContext;
import com.ibm.disni.verbs.IbvMr;
import com.ibm.disni.verbs.IbvPd;
import com.ibm.disni.verbs.IbvQP;
import com.ibm.disni.verbs.IbvQPInitAttr;
import com.ibm.disni.verbs.IbvRecvWR;
import com.ibm.disni.verbs.IbvSendWR;
import com.ibm.disni.verbs.IbvSge;
import com.ibm.disni.verbs.IbvWC;
import com.ibm.disni.verbs.RdmaCmId;
import com.ibm.disni.verbs.SVCPollCq;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.util.LinkedList;
import java.util.List;

/** One end of a connection, made as DiSNI's programs do. */
final class End {
  static final int REQUESTS = 16;
  static final int INLINE = 64;
  static final int ACCESS =
      IbvMr.IBV_ACCESS_LOCAL_WRITE
          | IbvMr.IBV_ACCESS_REMOTE_WRITE
          | IbvMr.IBV_ACCESS_REMOTE_READ
          | IbvMr.IBV_ACCESS_REMOTE_ATOMIC;

  final RdmaCmId id;
  final IbvContext context;
  final IbvPd pd;
  final IbvCompChannel events;
  final IbvCQ cq;
  final IbvQP qp;
  final ByteBuffer memory = ByteBuffer.allocateDirect(256).order(ByteOrder.nativeOrder());
  final IbvMr mr;
  final IbvWC[] completions = new IbvWC[REQUESTS];
  final SVCPollCq poll;

  End(RdmaCmId id) throws IOException {
    this.id = id;
    context = id.getVerbs();
    pd = context.allocPd();
    events = context.createCompChannel();
    cq = context.createCQ(events, 4 * REQUESTS, 0);
    qp = id.createQP(pd, attributes(cq));
    mr = pd.regMr(memory, ACCESS).execute().free().getMr();
    for (int i = 0; i < completions.length; i++) {
      completions[i] = new IbvWC();
    }
    poll = cq.poll(completions, completions.length);
  }

  static IbvQPInitAttr attributes(IbvCQ cq) {
    IbvQPInitAttr attributes = new IbvQPInitAttr();
    attributes.setQp_type(IbvQP.IBV_QPT_RC);
    attributes.setSend_cq(cq);
    attributes.setRecv_cq(cq);
    attributes.cap().setMax_send_wr(REQUESTS);
    attributes.cap().setMax_recv_wr(REQUESTS);
    attributes.cap().setMax_send_sge(1);
    attributes.cap().setMax_recv_sge(1);
    attributes.cap().setMax_inline_data(INLINE);
    return attributes;
  }

  /** An SGE in the memory of this end. */
  IbvSge sge(int offset, int length) {
    IbvSge sge = new IbvSge();
    sge.setAddr(MemoryUtils.getAddress(memory) + offset);
    sge.setLength(length);
    sge.setLkey(mr.getLkey());
    return sge;
  }

  /** A signaled send request. */
  static IbvSendWR request(int opcode, long id, IbvSge... sges) {
    IbvSendWR request = new IbvSendWR();
    request.setOpcode(opcode);
    request.setWr_id(id);
    request.setSend_flags(IbvSendWR.IBV_SEND_SIGNALED);
    request.setSg_list(new LinkedList<>(List.of(sges)));
    return request;
  }

  IbvSendWR remote(IbvSendWR request, End target, int offset) {
    request.getRdma().setRemote_addr(target.mr.getAddr() + offset);
    request.getRdma().setRkey(target.mr.getRkey());
    return request;
  }

  static IbvRecvWR receive(long id, IbvSge... sges) {
    IbvRecvWR request = new IbvRecvWR();
    request.setWr_id(id);
    request.setSg_list(new LinkedList<>(List.of(sges)));
    return request;
  }

  void post(IbvSendWR... requests) throws IOException {
    qp.postSend(List.of(requests), null).execute().free();
  }

  void post(IbvRecvWR... requests) throws IOException {
    qp.postRecv(List.of(requests), null).execute().free();
  }

  /** Polls until there is one completion; the runner of the tests ends a wait without an end. */
  IbvWC completion() throws IOException {
    while (true) {
      int polls = poll.execute().getPolls();
      if (polls == 1) {
        return completions[0];
      }
      if (polls > 1) {
        throw new AssertionError(polls + " completions in place of one");
      }
      Thread.onSpinWait();
    }
  }

  IbvWC success() throws IOException {
    IbvWC wc = completion();
    if (wc.getStatus() != IbvWC.IbvWcStatus.IBV_WC_SUCCESS.ordinal()) {
      throw new AssertionError(IbvWC.IbvWcStatus.valueOf(wc.getStatus()) + " " + wc.getWr_id());
    }
    return wc;
  }
}
