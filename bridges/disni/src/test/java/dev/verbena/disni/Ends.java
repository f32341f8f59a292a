package dev.verbena.disni;

import static com.ibm.disni.verbs.RdmaCmEvent.EventType.RDMA_CM_EVENT_CONNECT_REQUEST;
import static com.ibm.disni.verbs.RdmaCmEvent.EventType.RDMA_CM_EVENT_ESTABLISHED;

import com.ibm.disni.verbs.RdmaCmId;
import com.ibm.disni.verbs.RdmaConnParam;
import java.io.IOException;

/** A connection between two hosts. */
final class Ends implements AutoCloseable {
  final Hosts hosts = new Hosts();
  final RdmaCmId listener;
  final End client;
  final End server;

  Ends() throws IOException {
    listener = hosts.listener();
    client = new End(hosts.resolved());
    client.id.connect(parameters());
    server = new End(Hosts.expect(RDMA_CM_EVENT_CONNECT_REQUEST, hosts.channel).getConnIdPriv());
    server.id.accept(parameters());
    Hosts.expect(RDMA_CM_EVENT_ESTABLISHED, hosts.channel);
    Hosts.expect(RDMA_CM_EVENT_ESTABLISHED, hosts.channel);
  }

  /** With retries: DiSNI's default is none. */
  static RdmaConnParam parameters() throws IOException {
    RdmaConnParam parameters = new RdmaConnParam();
    parameters.setRetry_count((byte) 3);
    parameters.setRnr_retry_count((byte) 7);
    return parameters;
  }

  @Override
  public void close() throws IOException {
    hosts.close();
  }
}
