package dev.verbena.disni;

import com.ibm.disni.verbs.RdmaCmEvent;
import com.ibm.disni.verbs.RdmaConnParam;
import dev.verbena.cm.ConnectionEvent;
import dev.verbena.cm.ConnectionParameters;
import java.io.IOException;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;

/** An event of RDMA CM, with the status, the parameters and the private data of the peer. */
final class BridgeCmEvent extends RdmaCmEvent {
  /** Keeps the private data, whose address programs get, as long as the event is reachable. */
  private final Arena arena = Arena.ofAuto();

  BridgeCmEvent(ConnectionEvent event, BridgeCmId listener, BridgeCmId id) throws IOException {
    super(event.code(), listener, id);
    this.status = event.status();
    this.conn = new Received(event, arena);
  }

  /** The parameters that an event came with; programs cannot set all of them. */
  private static final class Received extends RdmaConnParam {
    Received(ConnectionEvent event, Arena arena) {
      byte[] data = event.privateData();
      if (data.length > 0) {
        private_data_addr =
            arena.allocate(data.length).copyFrom(MemorySegment.ofArray(data)).address();
        private_data_len = (byte) data.length;
      }
      event.connection().ifPresent(this::take);
    }

    private void take(ConnectionParameters parameters) {
      responder_resources = (byte) parameters.responderResources();
      initiator_depth = (byte) parameters.initiatorDepth();
      flow_control = (byte) (parameters.hasFlowControl() ? 1 : 0);
      retry_count = (byte) parameters.retryCount();
      rnr_retry_count = (byte) parameters.rnrRetryCount();
      srq = (byte) (parameters.hasSharedReceiveQueue() ? 1 : 0);
      qp_num = parameters.queuePairNumber();
    }
  }
}
