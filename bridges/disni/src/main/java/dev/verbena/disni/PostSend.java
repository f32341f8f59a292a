package dev.verbena.disni;

import com.ibm.disni.verbs.IbvSendWR;
import com.ibm.disni.verbs.SVCPostSend;
import dev.verbena.verbs.SendList;
import java.io.IOException;
import java.util.ArrayList;
import java.util.List;

/** A formatted list of send requests, which {@link #execute} posts, and its mutators patch. */
final class PostSend extends SVCPostSend {
  private final BridgeQp qp;
  private final List<IbvSendWR> requests;
  private final List<IbvSendWR> failed;
  private final SendList list;
  private final SendSlot[] slots;
  private boolean valid = true;

  /** Whether a request has, or had, inline data. */
  private boolean inline;

  private PostSend(BridgeQp qp, List<IbvSendWR> requests, List<IbvSendWR> failed, SendList list) {
    this.qp = qp;
    this.requests = requests;
    this.failed = failed;
    this.list = list;
    this.slots = new SendSlot[requests.size()];
  }

  static PostSend of(BridgeQp qp, List<IbvSendWR> requests, List<IbvSendWR> failed)
      throws IOException {
    Sges.requireRequests(requests);
    int sges = 1;
    for (IbvSendWR request : requests) {
      sges = Math.max(sges, Sges.count(request.getSg_list(), request.getNum_sge()));
    }
    SendList list = new SendList(requests.size(), sges, qp.pair().capacity().maxInlineData());
    PostSend call = new PostSend(qp, new ArrayList<>(requests), failed, list);
    call.format();
    return call;
  }

  private void format() throws IOException {
    try {
      for (int i = 0; i < slots.length; i++) {
        slots[i] = new SendSlot(list, i, requests.get(i), this);
      }
    } catch (RuntimeException e) {
      throw Failures.io(e);
    }
  }

  /** Returns the local key for the key of an SGE. */
  int localKey(int key) {
    return qp.localKey(key);
  }

  /** Called by a request that has inline data. */
  void copiesInlineData() {
    inline = true;
  }

  @Override
  public SVCPostSend execute() throws IOException {
    Call.requireValid(valid, "list of send requests");
    qp.requireOpen();
    int posted;
    try {
      if (inline) {
        for (SendSlot slot : slots) {
          slot.copyInlineData();
        }
      }
      posted = qp.pair().post(list);
    } catch (RuntimeException e) {
      Sges.report(requests, failed, list.badRequest());
      throw Failures.io(e);
    }
    if (posted < slots.length) {
      Sges.report(requests, failed, posted);
      throw Sges.full("send", posted, slots.length);
    }
    return this;
  }

  @Override
  public SendWRMod getWrMod(int index) throws IOException {
    return slots[Sges.index(index, slots.length)];
  }

  @Override
  public boolean isValid() {
    return valid;
  }

  @Override
  public SVCPostSend free() {
    valid = false;
    return this;
  }
}
