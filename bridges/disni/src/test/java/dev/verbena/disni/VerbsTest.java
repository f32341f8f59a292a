package dev.verbena.disni;

import static dev.verbena.disni.Messages.assertFails;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNotEquals;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertSame;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.ibm.disni.verbs.IbvContext;
import com.ibm.disni.verbs.IbvMr;
import com.ibm.disni.verbs.IbvPd;
import com.ibm.disni.verbs.IbvSendWR;
import com.ibm.disni.verbs.IbvWC;
import com.ibm.disni.verbs.RdmaVerbs;
import com.ibm.disni.verbs.SVCDeregMr;
import com.ibm.disni.verbs.SVCPollCq;
import com.ibm.disni.verbs.SVCRegMr;
import com.ibm.disni.verbs.SVCReqNotify;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.util.List;
import org.junit.jupiter.api.Test;

/** Every method of {@code RdmaVerbs} but for the two that post. */
class VerbsTest {
  private static final int ALL_OPERATIONS =
      IbvContext.IBV_ODP_SUPPORT_SEND
          | IbvContext.IBV_ODP_SUPPORT_RECV
          | IbvContext.IBV_ODP_SUPPORT_WRITE
          | IbvContext.IBV_ODP_SUPPORT_READ
          | IbvContext.IBV_ODP_SUPPORT_ATOMIC;

  @Test
  void contextsOfOneDeviceAreOne() throws IOException {
    try (Hosts hosts = new Hosts()) {
      hosts.listener();
      IbvContext context = hosts.resolved().getVerbs();
      assertSame(context, hosts.resolved().getVerbs());
      assertTrue(context.getNumCompVectors() > 0);
      assertTrue(context.getCmd_fd() > 0);
    }
  }

  @Test
  void registersBuffersAndAddresses() throws IOException {
    try (Ends ends = new Ends()) {
      IbvPd pd = ends.client.pd;
      ByteBuffer buffer = ByteBuffer.allocateDirect(100).position(7);
      SVCRegMr call = pd.regMr(buffer, End.ACCESS);
      assertTrue(call.isValid());
      assertNull(call.getMr());
      IbvMr mr = call.execute().getMr();
      assertEquals(100, mr.getLength());
      assertEquals(com.ibm.disni.util.MemoryUtils.getAddress(buffer), mr.getAddr());
      assertTrue(mr.isOpen());
      assertFalse(call.free().isValid());
      assertFails("was freed", call::execute);
      IbvMr part = pd.regMr(mr.getAddr() + 10, 20, End.ACCESS).execute().free().getMr();
      assertEquals(mr.getAddr() + 10, part.getAddr());
      assertEquals(20, part.getLength());
      assertNotEquals(mr.getLkey(), part.getLkey());
      SVCDeregMr deregistration = part.deregMr();
      assertTrue(deregistration.isValid());
      assertSame(deregistration, deregistration.execute());
      assertFalse(part.isOpen());
      assertFails("memory region is closed", deregistration::execute);
      assertFails("memory region is closed", () -> part.expPrefetchMr(part.getAddr(), 1));
      assertFalse(deregistration.free().isValid());
      assertFails("was freed", deregistration::execute);
    }
  }

  @Test
  void wrongMemoryIsRefused() throws IOException {
    try (Ends ends = new Ends()) {
      IbvPd pd = ends.client.pd;
      RdmaVerbs verbs = RdmaVerbs.open();
      assertFails("direct buffer", () -> pd.regMr(ByteBuffer.allocate(8), End.ACCESS));
      assertFails("direct buffer", () -> pd.regMr(null, End.ACCESS));
      assertFails("8 bytes at 0x0", () -> pd.regMr(0, 8, End.ACCESS));
      assertFails("0 bytes at 0x1", () -> pd.regMr(1, 0, End.ACCESS));
      assertFails(
          "unknown access flags 0x40000000", () -> pd.regMr(ByteBuffer.allocateDirect(8), 1 << 30));
      SVCRegMr remoteWriteAlone =
          pd.regMr(ByteBuffer.allocateDirect(8), IbvMr.IBV_ACCESS_REMOTE_WRITE);
      assertFails("LOCAL_WRITE", remoteWriteAlone::execute);
      assertFails("memory region is null", () -> verbs.deregMr(null));
      assertFails("memory region is null", () -> verbs.expPrefetchMr(null, 0, 0));
      assertFails(
          "memory region is of another provider",
          () -> verbs.deregMr(new IbvMr(null, 0, 0, 0, 0, 0, 0)));
      SVCRegMr late = pd.regMr(ByteBuffer.allocateDirect(8), End.ACCESS);
      pd.close();
      assertFails("protection domain is closed", late::execute);
    }
  }

  @Test
  void onDemandPagingIsQueriedAndPrefetched() throws IOException {
    try (Ends ends = new Ends()) {
      int operations = ends.client.context.queryOdpSupport();
      assertEquals(ALL_OPERATIONS, operations & ALL_OPERATIONS);
      IbvMr mr =
          ends.client
              .pd
              .regMr(ByteBuffer.allocateDirect(8192), End.ACCESS | IbvMr.IBV_ACCESS_ON_DEMAND)
              .execute()
              .getMr();
      assertEquals(0, mr.expPrefetchMr(mr.getAddr() + 4096, 4096));
      assertFails("4097", () -> mr.expPrefetchMr(mr.getAddr() + 4096, 4097));
    }
  }

  @Test
  void eventIsDeliveredOnceForEachRequest() throws IOException {
    try (Ends ends = new Ends()) {
      End client = ends.client;
      assertFalse(client.events.getCqEvent(client.cq, 0));
      assertFalse(client.events.getCqEvent(client.cq, 1));
      SVCReqNotify notify = client.cq.reqNotification(false);
      assertTrue(notify.isValid());
      notify.execute();
      client.post(
          client.remote(
              End.request(IbvSendWR.IBV_WR_RDMA_WRITE, 1, client.sge(0, 8)), ends.server, 0));
      assertTrue(client.events.getCqEvent(client.cq, -1));
      assertEquals(0, client.cq.ackEvents(1));
      assertEquals(1, client.success().getWr_id());
      assertFalse(client.events.getCqEvent(client.cq, 0));
      assertFalse(notify.free().isValid());
      assertFails("was freed", notify::execute);
    }
  }

  @Test
  void solicitedEventNeedsSolicitedSend() throws IOException {
    try (Ends ends = new Ends()) {
      End server = ends.server;
      server.cq.reqNotification(true).execute();
      server.post(End.receive(1, server.sge(0, 8)), End.receive(2, server.sge(8, 8)));
      ends.client.post(End.request(IbvSendWR.IBV_WR_SEND, 1, ends.client.sge(0, 8)));
      assertEquals(1, server.success().getWr_id());
      assertFalse(server.events.getCqEvent(server.cq, 0));
      IbvSendWR solicited = End.request(IbvSendWR.IBV_WR_SEND, 2, ends.client.sge(0, 8));
      solicited.setSend_flags(IbvSendWR.IBV_SEND_SIGNALED | IbvSendWR.IBV_SEND_SOLICITED);
      ends.client.post(solicited);
      assertTrue(server.events.getCqEvent(server.cq, Hosts.LONG));
      assertEquals(2, server.success().getWr_id());
    }
  }

  @Test
  void waitForAnEventEndsWhenTheChannelIsDestroyed() throws Exception {
    try (Ends ends = new Ends()) {
      List<IOException> failures = new java.util.concurrent.CopyOnWriteArrayList<>();
      Thread waiting =
          Thread.ofPlatform()
              .start(
                  () -> {
                    try {
                      ends.client.events.getCqEvent(ends.client.cq, -1);
                    } catch (IOException e) {
                      failures.add(e);
                    }
                  });
      while (waiting.getState() != Thread.State.WAITING
          && waiting.getState() != Thread.State.TIMED_WAITING) {
        Thread.onSpinWait();
      }
      ends.client.events.destroyCompChannel();
      waiting.join();
      assertTrue(failures.getFirst().getMessage().contains("closed"), failures.toString());
    }
  }

  @Test
  void pollFillsTheProgramsObjects() throws IOException {
    try (Ends ends = new Ends()) {
      End client = ends.client;
      IbvWC[] completions = new IbvWC[3];
      SVCPollCq poll = client.cq.poll(completions, 2);
      assertEquals(0, poll.execute().getPolls());
      assertTrue(poll.isValid());
      for (int i = 1; i <= 3; i++) {
        client.post(
            client.remote(
                End.request(IbvSendWR.IBV_WR_RDMA_WRITE, i, client.sge(0, 8)), ends.server, 0));
      }
      int first;
      do {
        first = poll.execute().getPolls();
      } while (first == 0);
      assertTrue(first <= 2, "more than the limit: " + first);
      assertEquals(1, completions[0].getWr_id());
      assertEquals(IbvWC.IbvWcOpcode.IBV_WC_RDMA_WRITE.getOpcode(), completions[0].getOpcode());
      assertEquals(client.qp.getQp_num(), completions[0].getQp_num());
      assertFalse(poll.free().isValid());
      assertFails("was freed", poll::execute);
      assertFails(
          "4 completions do not fit into an array of 3", () -> client.cq.poll(completions, 4));
      assertFails("-1 completions", () -> client.cq.poll(completions, -1));
      assertFails("array of null", () -> client.cq.poll(null, 0));
    }
  }

  @Test
  void closedObjectsAreRefused() throws IOException {
    try (Ends ends = new Ends()) {
      End end = ends.client;
      SVCReqNotify notify = end.cq.reqNotification(false);
      assertEquals(0, end.cq.destroyCQ());
      assertFails("completion queue is closed", end.cq::destroyCQ);
      assertFails("completion queue is closed", () -> end.cq.poll(end.completions, 1));
      assertFails("completion queue is closed", end.poll::execute);
      assertFails("completion queue is closed", notify::execute);
      assertFails("completion queue is closed", () -> end.cq.reqNotification(true));
      assertFails("completion queue is closed", () -> end.cq.ackEvents(1));
      assertEquals(0, end.events.destroyCompChannel());
      String channel = "completion channel is closed";
      assertFails(channel, end.events::destroyCompChannel);
      assertFails(channel, () -> end.events.getCqEvent(end.cq, 0));
      assertFails(channel, () -> end.context.createCQ(end.events, 8, 0));
      assertEquals(0, RdmaVerbs.open().deallocPd(end.pd));
      assertFails("protection domain is closed", () -> RdmaVerbs.open().deallocPd(end.pd));
      assertFails(
          "protection domain is closed",
          () -> end.pd.regMr(ByteBuffer.allocateDirect(8), End.ACCESS));
      end.context.close();
      String context = "context is closed";
      assertFails(context, end.context::allocPd);
      assertFails(context, end.context::createCompChannel);
      assertFails(context, end.context::queryOdpSupport);
    }
  }

  @Test
  void wrongArgumentsAreRefused() throws IOException {
    try (Ends ends = new Ends()) {
      RdmaVerbs verbs = RdmaVerbs.open();
      End end = ends.client;
      assertFails("context is null", () -> verbs.allocPd(null));
      assertFails("context is null", () -> verbs.createCompChannel(null));
      assertFails("context is null", () -> verbs.queryOdpSupport(null));
      assertFails("completion channel is null", () -> end.context.createCQ(null, 8, 0));
      assertFails("must be positive: 0", () -> end.context.createCQ(end.events, 0, 0));
      assertFails("99", () -> end.context.createCQ(end.events, 8, 99));
      assertFails("completion channel", () -> ends.server.context.createCQ(end.events, 8, 0));
      assertFails("completion channel is null", () -> verbs.getCqEvent(null, end.cq, 0));
      assertFails("completion channel is null", () -> verbs.destroyCompChannel(null));
      assertFails("completion queue is null", () -> verbs.pollCQ(null, end.completions, 1));
      assertFails("completion queue is null", () -> verbs.reqNotifyCQ(null, false));
      assertFails("completion queue is null", () -> verbs.ackCqEvents(null, 1));
      assertFails("completion queue is null", () -> verbs.destroyCQ(null));
      assertFails("protection domain is null", () -> verbs.deallocPd(null));
    }
  }
}
