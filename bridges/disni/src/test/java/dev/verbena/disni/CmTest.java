package dev.verbena.disni;

import static com.ibm.disni.verbs.RdmaCmEvent.EventType.RDMA_CM_EVENT_CONNECT_REQUEST;
import static com.ibm.disni.verbs.RdmaCmEvent.EventType.RDMA_CM_EVENT_DISCONNECTED;
import static com.ibm.disni.verbs.RdmaCmEvent.EventType.RDMA_CM_EVENT_REJECTED;
import static dev.verbena.disni.Messages.assertFails;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertInstanceOf;
import static org.junit.jupiter.api.Assertions.assertNotEquals;
import static org.junit.jupiter.api.Assertions.assertNotSame;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertSame;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.ibm.disni.util.MemoryUtils;
import com.ibm.disni.verbs.IbvQP;
import com.ibm.disni.verbs.IbvQPInitAttr;
import com.ibm.disni.verbs.RdmaCm;
import com.ibm.disni.verbs.RdmaCmEvent;
import com.ibm.disni.verbs.RdmaCmId;
import com.ibm.disni.verbs.RdmaConnParam;
import com.ibm.disni.verbs.RdmaEventChannel;
import com.ibm.disni.verbs.RdmaProvider;
import com.ibm.disni.verbs.RdmaVerbs;
import java.io.IOException;
import java.io.InterruptedIOException;
import java.net.InetSocketAddress;
import java.net.SocketAddress;
import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.Test;

/** Every method of {@code RdmaProvider} and {@code RdmaCm}. */
class CmTest {
  @Test
  void providerIsTheOneOfThisArtifact() throws IOException {
    assertInstanceOf(DisniProvider.class, RdmaProvider.provider());
    assertSame(RdmaProvider.provider().openCm(), RdmaCm.open());
    assertSame(RdmaProvider.provider().openVerbs(), RdmaVerbs.open());
    assertEquals(32, RdmaVerbs.getVersion());
  }

  @Test
  void connectsAndDisconnects() throws IOException {
    try (Ends ends = new Ends()) {
      assertEquals(Hosts.SERVER, ends.client.id.getDestination());
      assertEquals(Hosts.SERVER, ends.server.id.getSource());
      assertEquals(ends.client.id.getSource(), ends.server.id.getDestination());
      assertEquals(RdmaCm.RDMA_PS_TCP, ends.client.id.getPs());
      assertEquals(1, ends.client.id.getPort_num());
      assertEquals(0, ends.client.id.disconnect());
      List<RdmaCmId> disconnected = new ArrayList<>();
      for (int i = 0; i < 2; i++) {
        disconnected.add(
            Hosts.expect(RDMA_CM_EVENT_DISCONNECTED, ends.hosts.channel).getConnIdPriv());
        ends.server.id.disconnect();
      }
      assertTrue(disconnected.containsAll(List.of(ends.client.id, ends.server.id)));
    }
  }

  @Test
  void requestHasListenerParametersAndPrivateData() throws IOException {
    try (Hosts hosts = new Hosts()) {
      RdmaCmId listener = hosts.listener();
      End client = new End(hosts.resolved());
      ByteBuffer data = ByteBuffer.allocateDirect(8).putLong(0, 0x0102030405060708L);
      RdmaConnParam parameters = Ends.parameters();
      parameters.setPrivate_data(MemoryUtils.getAddress(data));
      parameters.setPrivate_data_len((byte) data.capacity());
      client.id.connect(parameters);
      RdmaCmEvent request = Hosts.expect(RDMA_CM_EVENT_CONNECT_REQUEST, hosts.channel);
      assertSame(listener, request.getListenIdPriv());
      assertNotSame(listener, request.getConnIdPriv());
      assertEquals(0, request.getStatus());
      assertEquals(3, request.getConn().getRetry_count());
      assertEquals(client.qp.getQp_num(), request.getConn().getQp_num());
      assertEquals(
          Long.reverseBytes(0x0102030405060708L),
          MemoryOf.longAt(request.getConn().getPrivate_data()));
      assertTrue(Byte.toUnsignedInt(request.getConn().getPrivate_data_len()) >= 8);
      assertNotEquals(client.context.getCmd_fd(), request.getConnIdPriv().getVerbs().getCmd_fd());
    }
  }

  @Test
  void destroyedRequestIsRejected() throws IOException {
    try (Hosts hosts = new Hosts()) {
      hosts.listener();
      End client = new End(hosts.resolved());
      client.id.connect(Ends.parameters());
      Hosts.expect(RDMA_CM_EVENT_CONNECT_REQUEST, hosts.channel).getConnIdPriv().destroyId();
      RdmaCmEvent rejected = Hosts.expect(RDMA_CM_EVENT_REJECTED, hosts.channel);
      assertSame(client.id, rejected.getConnIdPriv());
      assertNotEquals(0, rejected.getStatus());
      assertNull(rejected.getListenIdPriv());
    }
  }

  @Test
  void failureHasErrnoAndAdvice() throws IOException {
    try (Hosts hosts = new Hosts()) {
      RdmaCmId id = hosts.channel.createId(RdmaCm.RDMA_PS_TCP);
      InetSocketAddress nowhere = new InetSocketAddress(Hosts.address("198.51.100.9"), 1);
      assertFails("ENETUNREACH", () -> id.resolveAddr(null, nowhere, 1));
      assertFails("ip route get", () -> id.resolveAddr(null, nowhere, 1));
    }
  }

  @Test
  void sourceAddressIsUsed() throws IOException {
    try (Hosts hosts = new Hosts()) {
      RdmaCmId id = hosts.channel.createId(RdmaCm.RDMA_PS_TCP);
      InetSocketAddress source = new InetSocketAddress(Hosts.address("192.0.2.2"), 0);
      id.resolveAddr(source, Hosts.SERVER, Hosts.LONG);
      Hosts.expect(RdmaCmEvent.EventType.RDMA_CM_EVENT_ADDR_RESOLVED, hosts.channel);
      assertEquals(source.getAddress(), ((InetSocketAddress) id.getSource()).getAddress());
    }
  }

  @Test
  void waitEndsByTimeoutInterruptAndClose() throws Exception {
    try (Hosts hosts = new Hosts()) {
      assertNull(hosts.channel.getCmEvent(0));
      assertNull(hosts.channel.getCmEvent(1));
      Thread.currentThread().interrupt();
      assertThrows(InterruptedIOException.class, () -> hosts.channel.getCmEvent(-1));
      assertFalse(Thread.interrupted(), "an event loop would fail for ever");
      RdmaEventChannel other = hosts.openChannel();
      List<IOException> failures = new ArrayList<>();
      Thread waiting =
          Thread.ofPlatform()
              .start(
                  () -> {
                    try {
                      other.getCmEvent(-1);
                    } catch (IOException e) {
                      failures.add(e);
                    }
                  });
      while (waiting.getState() != Thread.State.WAITING
          && waiting.getState() != Thread.State.TIMED_WAITING) {
        Thread.onSpinWait();
      }
      assertEquals(0, other.destroyEventChannel());
      waiting.join();
      assertTrue(failures.getFirst().getMessage().contains("closed"), failures.toString());
    }
  }

  @Test
  void closedObjectsAreRefused() throws IOException {
    try (Ends ends = new Ends()) {
      RdmaCmId id = ends.client.id;
      assertEquals(0, id.destroyQP());
      assertFalse(ends.client.qp.isOpen());
      assertFails("queue pair is closed", id::destroyQP);
      assertEquals(0, id.destroyId());
      assertFalse(id.isOpen());
      assertSame(ends.client.context, id.getVerbs());
      String closed = "identifier is closed";
      assertFails(closed, id::destroyId);
      assertFails(closed, id::destroyEp);
      assertFails(closed, id::destroyQP);
      assertFails(closed, id::disconnect);
      assertFails(closed, id::getSource);
      assertFails(closed, id::getDestination);
      assertFails(closed, () -> id.bindAddr(Hosts.SERVER));
      assertFails(closed, () -> id.listen(1));
      assertFails(closed, () -> id.resolveAddr(null, Hosts.SERVER, 1));
      assertFails(closed, () -> id.resolveRoute(1));
      assertFails(closed, () -> id.connect(Ends.parameters()));
      assertFails(closed, () -> id.accept(Ends.parameters()));
      assertFails(closed, () -> id.createQP(ends.client.pd, End.attributes(ends.client.cq)));
      assertEquals(0, ends.server.id.destroyEp());
      assertFalse(ends.server.id.isOpen());
      RdmaEventChannel channel = ends.hosts.channel;
      assertEquals(0, channel.destroyEventChannel());
      assertFalse(ends.listener.isOpen());
      assertFails("event channel is closed", channel::destroyEventChannel);
      assertFails("event channel is closed", () -> channel.getCmEvent(0));
      assertFails("event channel is closed", () -> channel.createId(RdmaCm.RDMA_PS_TCP));
    }
  }

  @Test
  void wrongArgumentsAreRefused() throws IOException {
    try (Hosts hosts = new Hosts()) {
      RdmaCm cm = RdmaCm.open();
      RdmaCmId id = hosts.channel.createId(RdmaCm.RDMA_PS_UDP);
      assertEquals(RdmaCm.RDMA_PS_UDP, id.getPs());
      assertNull(id.getVerbs(), "no device yet");
      assertEquals(0, id.getPort_num());
      assertEquals(new InetSocketAddress(0), id.getSource());
      assertEquals(new InetSocketAddress(0), id.getDestination());
      assertFails("unknown port space 0x7", () -> hosts.channel.createId((short) 7));
      assertFails("event channel is null", () -> cm.createId(null, RdmaCm.RDMA_PS_TCP));
      assertFails("event channel is null", () -> cm.getCmEvent(null, 0));
      assertFails("event channel is null", () -> cm.destroyEventChannel(null));
      assertFails("identifier is null", () -> cm.listen(null, 1));
      assertFails("identifier is null", () -> cm.getSrcAddr(null));
      assertFails("identifier is null", () -> cm.getDstAddr(null));
      assertFails("identifier is of another provider", () -> cm.destroyCmId(new ForeignId(hosts)));
      assertFails("not the IP address", () -> id.bindAddr(null));
      assertFails("not the IP address", () -> id.bindAddr(new SocketAddress() {}));
      InetSocketAddress unresolved = InetSocketAddress.createUnresolved("nowhere.invalid", 1);
      assertFails("nowhere.invalid", () -> id.resolveAddr(null, unresolved, 1));
      assertFails("timeout", () -> id.resolveAddr(null, Hosts.SERVER, -1));
      assertFails("backlog", () -> id.listen(-1));
      assertFails(
          "192.0.2.77", () -> id.bindAddr(new InetSocketAddress(Hosts.address("192.0.2.77"), 1)));
      assertFails("no device", () -> id.resolveRoute(1));
      assertFails("parameters are null", () -> id.connect(null));
      RdmaConnParam nowhere = new RdmaConnParam();
      nowhere.setPrivate_data_len((byte) 9);
      assertFails("9 bytes of private data have no address", () -> id.connect(nowhere));
      assertFails("9 bytes of private data have no address", () -> id.accept(nowhere));
      assertEquals(0, cm.ackCmEvent(null));
    }
  }

  @Test
  void wrongAttributesOfQueuePairAreRefused() throws IOException {
    try (Hosts hosts = new Hosts()) {
      hosts.listener();
      RdmaCmId id = hosts.resolved();
      End end = new End(hosts.resolved());
      assertFails("attributes of the queue pair are null", () -> id.createQP(end.pd, null));
      assertFails("protection domain is null", () -> id.createQP(null, End.attributes(end.cq)));
      assertFails("queue of sends is null", () -> id.createQP(end.pd, End.attributes(null)));
      IbvQPInitAttr attributes = End.attributes(end.cq);
      attributes.setQp_type((byte) 9);
      assertFails("unknown type of a queue pair: 9", () -> id.createQP(end.pd, attributes));
      attributes.setQp_type(IbvQP.IBV_QPT_RC);
      attributes.setSrq(1);
      assertFails("shared receive queue", () -> id.createQP(end.pd, attributes));
      attributes.setSrq(0);
      attributes.cap().setMax_send_wr(Integer.MAX_VALUE);
      assertFails("ibv_create_qp", () -> id.createQP(end.pd, attributes));
      assertFails("queue pair is null", id::destroyQP);
      end.cq.destroyCQ();
      assertFails("queue of sends is closed", () -> id.createQP(end.pd, End.attributes(end.cq)));
      end.pd.close();
      assertFails("protection domain is closed", () -> id.createQP(end.pd, End.attributes(end.cq)));
    }
  }

  @Test
  void queuePairTellsWhatItWasMadeOf() throws IOException {
    try (Ends ends = new Ends()) {
      IbvQP qp = ends.client.qp;
      assertSame(ends.client.context, qp.getContext());
      assertSame(ends.client.pd, qp.getPd());
      assertSame(ends.client.cq, qp.getSend_cq());
      assertSame(ends.client.cq, qp.getRecv_cq());
      assertEquals(IbvQP.IBV_QPT_RC, qp.getQp_type());
      assertEquals(IbvQP.IBV_QPS_RTS, qp.getState());
      assertTrue(qp.getQp_num() > 0);
      assertSame(qp, ends.client.id.getQp());
    }
  }

  /** An identifier that this artifact did not make. */
  private static final class ForeignId extends RdmaCmId {
    ForeignId(Hosts hosts) throws IOException {
      super(hosts.channel, null);
    }
  }
}
