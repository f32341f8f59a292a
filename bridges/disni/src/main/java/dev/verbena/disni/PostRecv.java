package dev.verbena.disni;

import com.ibm.disni.verbs.IbvRecvWR;
import com.ibm.disni.verbs.IbvSge;
import com.ibm.disni.verbs.SVCPostRecv;
import dev.verbena.verbs.ReceiveList;
import java.io.IOException;
import java.util.ArrayList;
import java.util.List;

/** A formatted list of receive requests. */
final class PostRecv extends SVCPostRecv {
  private final BridgeQp qp;
  private final List<IbvRecvWR> requests;
  private final List<IbvRecvWR> failed;
  private final ReceiveList list;
  private final RecvWRMod[] mods;
  private boolean valid = true;

  private PostRecv(
      BridgeQp qp, List<IbvRecvWR> requests, List<IbvRecvWR> failed, ReceiveList list) {
    this.qp = qp;
    this.requests = requests;
    this.failed = failed;
    this.list = list;
    this.mods = new RecvWRMod[requests.size()];
    for (int i = 0; i < mods.length; i++) {
      int request = i;
      mods[i] = () -> list.id(request);
    }
  }

  static PostRecv of(BridgeQp qp, List<IbvRecvWR> requests, List<IbvRecvWR> failed)
      throws IOException {
    Sges.requireRequests(requests);
    int sges = 0;
    for (IbvRecvWR request : requests) {
      sges = Math.max(sges, Sges.count(request.getSg_list(), request.getNum_sge()));
    }
    ReceiveList list = new ReceiveList(requests.size(), sges);
    for (int i = 0; i < requests.size(); i++) {
      IbvRecvWR request = requests.get(i);
      list.id(i, request.getWr_id());
      for (int j = 0; j < request.getNum_sge(); j++) {
        IbvSge sge = request.getSg_list().get(j);
        list.localUnchecked(i, j, sge.getAddr(), sge.getLength(), qp.localKey(sge.getLkey()));
      }
    }
    return new PostRecv(qp, new ArrayList<>(requests), failed, list);
  }

  @Override
  public SVCPostRecv execute() throws IOException {
    Call.requireValid(valid, "list of receive requests");
    qp.requireOpen();
    int posted;
    try {
      posted = qp.pair().post(list, 0, mods.length);
    } catch (RuntimeException e) {
      Sges.report(requests, failed, list.badRequest());
      throw Failures.io(e);
    }
    if (posted < mods.length) {
      Sges.report(requests, failed, posted);
      throw Sges.full("receive", posted, mods.length);
    }
    return this;
  }

  @Override
  public RecvWRMod getWrMod(int index) throws IOException {
    return mods[Sges.index(index, mods.length)];
  }

  @Override
  public boolean isValid() {
    return valid;
  }

  @Override
  public SVCPostRecv free() {
    valid = false;
    return this;
  }
}
