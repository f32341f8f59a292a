package dev.verbena.disni;

import com.ibm.disni.verbs.IbvQP;
import dev.verbena.verbs.QueuePair;
import java.io.IOException;

/** A queue pair. */
final class BridgeQp extends IbvQP {
  private final QueuePair pair;
  private final LocalKeys localKeys;

  BridgeQp(QueuePair pair, BridgePd pd, BridgeCq sends, BridgeCq receives) throws IOException {
    super(pair.number());
    this.pair = pair;
    this.context = pd.getContext();
    this.pd = pd;
    this.localKeys = pd.localKeys();
    this.send_cq = sends;
    this.recv_cq = receives;
    this.qp_type = pair.type().code();
  }

  /** Returns the queue pair of a call's argument. */
  static BridgeQp of(IbvQP argument) throws IOException {
    BridgeQp own = Failures.own(BridgeQp.class, argument, "queue pair");
    own.requireOpen();
    return own;
  }

  void requireOpen() throws IOException {
    Failures.requireOpen(isOpen(), "queue pair");
  }

  QueuePair pair() {
    return pair;
  }

  /** Returns the local key for the key of an SGE. */
  int localKey(int key) {
    return localKeys.of(key);
  }

  /** Returns the state that the device has it in: {@code ibv_query_qp}. */
  @Override
  public int getState() {
    return pair.state().code();
  }

  int destroy() throws IOException {
    Failures.run(pair::close);
    close();
    return 0;
  }
}
