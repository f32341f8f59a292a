package dev.verbena.disni;

import com.ibm.disni.verbs.IbvContext;
import com.ibm.disni.verbs.IbvQP;
import com.ibm.disni.verbs.RdmaCm;
import com.ibm.disni.verbs.RdmaCmId;
import dev.verbena.cm.ConnectionId;
import java.io.IOException;

/** An identifier of RDMA CM. */
final class BridgeCmId extends RdmaCmId {
  private final BridgeEventChannel channel;
  private final ConnectionId id;

  BridgeCmId(BridgeEventChannel channel, ConnectionId id) throws IOException {
    super(channel, null);
    this.channel = channel;
    this.id = id;
    this.ps =
        switch (id.portSpace()) {
          case UDP -> RdmaCm.RDMA_PS_UDP;
          case IPOIB -> RdmaCm.RDMA_PS_IPOIB;
          default -> RdmaCm.RDMA_PS_TCP;
        };
  }

  /** Returns the identifier of a call's argument. */
  static BridgeCmId of(RdmaCmId argument) throws IOException {
    BridgeCmId own = Failures.own(BridgeCmId.class, argument, "identifier");
    own.requireOpen();
    return own;
  }

  private void requireOpen() throws IOException {
    Failures.requireOpen(isOpen(), "identifier");
  }

  ConnectionId id() {
    return id;
  }

  /**
   * Returns the device that the identifier is bound to, or null if it is not bound to one. DiSNI's
   * endpoints ask after the identifier was destroyed.
   */
  @Override
  public IbvContext getVerbs() throws IOException {
    if (verbs == null) {
      requireOpen();
      if (id.hasDevice()) {
        verbs = BridgeCm.context(id.context());
      }
    }
    return verbs;
  }

  @Override
  public byte getPort_num() {
    return (byte) (id.isOpen() ? id.portNumber() : 0);
  }

  void queuePair(IbvQP pair) {
    setQp(pair);
  }

  int destroy() throws IOException {
    channel.forget(id);
    Failures.run(id::close);
    if (qpObj != null) {
      qpObj.close();
    }
    close();
    return 0;
  }
}
