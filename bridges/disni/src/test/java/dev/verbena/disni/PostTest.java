package dev.verbena.disni;

import static dev.verbena.disni.Messages.assertFails;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertSame;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.ibm.disni.verbs.IbvMr;
import com.ibm.disni.verbs.IbvRecvWR;
import com.ibm.disni.verbs.IbvSendWR;
import com.ibm.disni.verbs.IbvSge;
import com.ibm.disni.verbs.IbvWC;
import com.ibm.disni.verbs.IbvWC.IbvWcStatus;
import com.ibm.disni.verbs.SVCPostRecv;
import com.ibm.disni.verbs.SVCPostSend;
import com.ibm.disni.verbs.SVCPostSend.SendWRMod;
import dev.verbena.verbs.QueuePair;
import dev.verbena.verbs.SendList;
import java.io.IOException;
import java.util.ArrayList;
import java.util.LinkedList;
import java.util.List;
import org.junit.jupiter.api.Test;

/** {@code postSend} and {@code postRecv}, their stateful calls and the mutators. */
class PostTest {
  private static final int FLAGS = IbvSendWR.IBV_SEND_SIGNALED;

  @Test
  void sendsWithImmediateAsTheWireHasIt() throws IOException {
    try (Ends ends = new Ends()) {
      ends.server.post(End.receive(5, ends.server.sge(0, 8), ends.server.sge(16, 8)));
      ends.client.memory.putLong(0, 11).putLong(8, 22);
      IbvSendWR send = End.request(IbvSendWR.IBV_WR_SEND_WITH_IMM, 6, ends.client.sge(0, 16));
      send.setImm_data(0x01020304);
      ends.client.post(send);
      IbvWC received = ends.server.success();
      assertEquals(5, received.getWr_id());
      assertEquals(16, received.getByte_len());
      assertEquals(0x01020304, received.getImm_data());
      assertEquals(2, received.getWc_flags()); // IBV_WC_WITH_IMM
      assertEquals(IbvWC.IbvWcOpcode.IBV_WC_RECV.getOpcode(), received.getOpcode());
      assertEquals(11, ends.server.memory.getLong(0));
      assertEquals(22, ends.server.memory.getLong(16));
      assertEquals(6, ends.client.success().getWr_id());
    }
  }

  @Test
  void immediateDataOfOtherProgramsIsInTheOrderOfTheWire() throws IOException {
    try (Ends ends = new Ends()) {
      ends.server.post(End.receive(5));
      QueuePair pair = BridgeQp.of(ends.client.qp).pair();
      SendList list = new SendList(1, 0);
      list.sendWithImmediate(0, 0x01020304).signaled();
      assertEquals(1, pair.post(list));
      assertEquals(0x04030201, ends.server.success().getImm_data());
    }
  }

  @Test
  void writesReadsAndUsesAtomics() throws IOException {
    try (Ends ends = new Ends()) {
      End client = ends.client;
      End server = ends.server;
      client.memory.putLong(0, 42);
      client.post(
          client.remote(End.request(IbvSendWR.IBV_WR_RDMA_WRITE, 1, client.sge(0, 8)), server, 32));
      client.success();
      assertEquals(42, server.memory.getLong(32));
      server.post(End.receive(9));
      IbvSendWR immediate =
          client.remote(
              End.request(IbvSendWR.IBV_WR_RDMA_WRITE_WITH_IMM, 2, client.sge(0, 8)), server, 40);
      immediate.setImm_data(-2);
      client.post(immediate);
      client.success();
      assertEquals(-2, server.success().getImm_data());
      client.post(
          client.remote(End.request(IbvSendWR.IBV_WR_RDMA_READ, 3, client.sge(8, 8)), server, 40));
      client.success();
      assertEquals(42, client.memory.getLong(8));
      client.post(atomic(client, server, IbvSendWR.IBV_WR_ATOMIC_FETCH_AND_ADD, 8, 0));
      client.success();
      assertEquals(50, server.memory.getLong(40));
      client.post(atomic(client, server, IbvSendWR.IBV_WR_ATOMIC_CMP_AND_SWP, 50, 7));
      client.success();
      assertEquals(7, server.memory.getLong(40));
      assertEquals(50, client.memory.getLong(16));
    }
  }

  /** As DiSNI's {@code ReadServer} and {@code VerbsServer} do, though software devices have two. */
  @Test
  void theLocalKeyOfARegionIsItsRemoteKey() throws IOException {
    try (Ends ends = new Ends()) {
      End client = ends.client;
      ends.server.memory.putLong(40, 42);
      IbvMr other = client.pd.regMr(client.memory, End.ACCESS).execute().free().getMr();
      IbvSendWR read = End.request(IbvSendWR.IBV_WR_RDMA_READ, 1, client.sge(8, 8));
      read.getRdma().setRemote_addr(ends.server.mr.getAddr() + 40);
      read.getRdma().setRkey(ends.server.mr.getLkey());
      SVCPostSend call = client.qp.postSend(List.of(read), null);
      call.execute();
      client.success();
      assertEquals(42, client.memory.getLong(8));
      call.getWrMod(0).getSgeMod(0).setLkey(other.getLkey());
      assertEquals(other.getLkey(), call.getWrMod(0).getSgeMod(0).getLkey());
      client.memory.putLong(8, 0);
      call.execute();
      client.success();
      assertEquals(42, client.memory.getLong(8));
      other.deregMr().execute();
      call.getWrMod(0).getSgeMod(0).setLkey(other.getLkey());
      call.execute();
      assertEquals(IbvWcStatus.IBV_WC_LOC_PROT_ERR.ordinal(), client.completion().getStatus());
    }
  }

  @Test
  void memoryThatPeersMayNotAccessKeepsItsLocalKey() throws IOException {
    try (Ends ends = new Ends()) {
      End server = ends.server;
      IbvMr own =
          server.pd.regMr(server.memory, IbvMr.IBV_ACCESS_LOCAL_WRITE).execute().free().getMr();
      IbvSge sge = server.sge(0, 8);
      sge.setLkey(own.getLkey());
      server.post(End.receive(5, sge));
      ends.client.memory.putLong(0, 11);
      ends.client.post(End.request(IbvSendWR.IBV_WR_SEND, 6, ends.client.sge(0, 8)));
      server.success();
      assertEquals(11, server.memory.getLong(0));
      own.deregMr().execute();
    }
  }

  private static IbvSendWR atomic(End client, End server, int opcode, long compareAdd, long swap) {
    IbvSendWR request = End.request(opcode, 4, client.sge(16, 8));
    request.getAtomic().setRemote_addr(server.mr.getAddr() + 40);
    request.getAtomic().setRkey(server.mr.getRkey());
    request.getAtomic().setCompare_add(compareAdd);
    request.getAtomic().setSwap(swap);
    return request;
  }

  @Test
  void mutatorsChangeTheRequestInPlace() throws IOException {
    try (Ends ends = new Ends()) {
      End client = ends.client;
      End server = ends.server;
      IbvSendWR request =
          client.remote(End.request(IbvSendWR.IBV_WR_RDMA_WRITE, 1, client.sge(0, 8)), server, 0);
      SVCPostSend call = client.qp.postSend(List.of(request), null);
      client.memory.putLong(0, 1).putLong(8, 2);
      call.execute();
      assertEquals(1, client.success().getWr_id());
      assertEquals(1, server.memory.getLong(0));
      SendWRMod mod = call.getWrMod(0);
      mod.setWr_id(77);
      call.execute();
      assertEquals(77, client.success().getWr_id());
      mod.getSgeMod(0).setAddr(client.sge(8, 8).getAddr());
      call.execute();
      client.success();
      assertEquals(2, server.memory.getLong(0));
      mod.getRdmaMod().setRemote_addr(server.mr.getAddr() + 24);
      call.execute();
      client.success();
      assertEquals(2, server.memory.getLong(24));
      client.memory.putLong(8, -1);
      mod.getSgeMod(0).setLength(4);
      call.execute();
      client.success();
      assertEquals(0xffff_ffffL, server.memory.getLong(24));
      mod.getSgeMod(0).setLkey(client.mr.getLkey());
      mod.getRdmaMod().setRkey(server.mr.getRkey());
      mod.getRdmaMod().setReserved(3);
      call.execute();
      client.success();
      assertEquals(77, mod.getWr_id());
      assertEquals(1, mod.getNum_sge());
      assertEquals(IbvSendWR.IBV_WR_RDMA_WRITE, mod.getOpcode());
      assertEquals(FLAGS, mod.getSend_flags());
      assertEquals(client.sge(8, 8).getAddr(), mod.getSgeMod(0).getAddr());
      assertEquals(4, mod.getSgeMod(0).getLength());
      assertEquals(client.mr.getLkey(), mod.getSgeMod(0).getLkey());
      assertEquals(server.mr.getAddr() + 24, mod.getRdmaMod().getRemote_addr());
      assertEquals(server.mr.getRkey(), mod.getRdmaMod().getRkey());
      assertEquals(3, mod.getRdmaMod().getReserved());
      assertEquals(1, request.getWr_id(), "the program's object");
    }
  }

  @Test
  void flagsCanBeChanged() throws IOException {
    try (Ends ends = new Ends()) {
      End client = ends.client;
      SVCPostSend call =
          client.qp.postSend(
              List.of(
                  client.remote(
                      End.request(IbvSendWR.IBV_WR_RDMA_WRITE, 1, client.sge(0, 8)),
                      ends.server,
                      0)),
              null);
      SendWRMod mod = call.getWrMod(0);
      mod.setSend_flags(0);
      client.memory.putLong(0, 5);
      call.execute();
      mod.setSend_flags(FLAGS);
      mod.setWr_id(2);
      call.execute();
      assertEquals(2, client.success().getWr_id(), "the first was unsignaled");
      mod.setSend_flags(FLAGS | IbvSendWR.IBV_SEND_FENCE | IbvSendWR.IBV_SEND_INLINE);
      mod.getRdmaMod().setRemote_addr(ends.server.mr.getAddr() + 64);
      mod.getSgeMod(0).setAddr(client.sge(8, 8).getAddr());
      mod.getSgeMod(0).setLkey(12345); // Not used for inline data.
      client.memory.putLong(8, 6);
      call.execute();
      assertEquals(2, client.success().getWr_id());
      assertEquals(6, ends.server.memory.getLong(64));
      mod.setSend_flags(FLAGS);
      mod.getSgeMod(0).setLkey(client.mr.getLkey());
      call.execute();
      client.success();
    }
  }

  @Test
  void inlineDataIsGatheredWhenItIsPosted() throws IOException {
    try (Ends ends = new Ends()) {
      End client = ends.client;
      IbvSendWR request =
          client.remote(
              End.request(IbvSendWR.IBV_WR_RDMA_WRITE, 1, client.sge(0, 8), client.sge(64, 8)),
              ends.server,
              0);
      request.setSend_flags(FLAGS | IbvSendWR.IBV_SEND_INLINE);
      SVCPostSend call = client.qp.postSend(List.of(request), null);
      client.memory.putLong(0, 3).putLong(64, 4);
      call.execute();
      client.success();
      assertEquals(3, ends.server.memory.getLong(0));
      assertEquals(4, ends.server.memory.getLong(8));
      call.getWrMod(0).getSgeMod(1).setLength(200);
      assertFails("length of inline data", call::execute);
    }
  }

  @Test
  void listIsPostedInOrder() throws IOException {
    try (Ends ends = new Ends()) {
      List<IbvSendWR> requests = new ArrayList<>();
      for (int i = 0; i < 4; i++) {
        requests.add(
            ends.client.remote(
                End.request(IbvSendWR.IBV_WR_RDMA_WRITE, i, ends.client.sge(8 * i, 8)),
                ends.server,
                8 * i));
      }
      SVCPostSend call = ends.client.qp.postSend(requests, null);
      assertTrue(call.isValid());
      assertSame(call, call.execute());
      for (int i = 0; i < 4; ) {
        int polls = ends.client.poll.execute().getPolls();
        for (int j = 0; j < polls; j++) {
          assertEquals(i++, ends.client.completions[j].getWr_id());
        }
      }
      assertFalse(call.free().isValid());
      assertFails("was freed", call::execute);
      assertFails("no work request 4", () -> call.getWrMod(4));
      assertFails("no work request -1", () -> call.getWrMod(-1));
    }
  }

  @Test
  void fullQueuesAreReported() throws IOException {
    try (Ends ends = new Ends()) {
      List<IbvRecvWR> failed = new ArrayList<>();
      List<IbvRecvWR> requests = new ArrayList<>();
      int capacity = 4 * End.REQUESTS;
      for (int i = 0; i < capacity; i++) {
        requests.add(End.receive(i));
      }
      SVCPostRecv receives = ends.client.qp.postRecv(requests, failed);
      assertFails("the receive queue is full (ENOMEM)", receives::execute);
      assertEquals(1, failed.size());
      ends.hosts.network.faults().fillQueues("soft0");
      List<IbvSendWR> failedSends = new ArrayList<>();
      IbvSendWR send = End.request(IbvSendWR.IBV_WR_SEND, 1, ends.client.sge(0, 8));
      SVCPostSend sends = ends.client.qp.postSend(List.of(send), failedSends);
      assertFails("0 of 1 requests were posted", sends::execute);
      assertSame(send, failedSends.getFirst());
    }
  }

  @Test
  void receiveCallCanBeRepeated() throws IOException {
    try (Ends ends = new Ends()) {
      SVCPostRecv receive =
          ends.server.qp.postRecv(List.of(End.receive(31, ends.server.sge(0, 8))), null);
      assertTrue(receive.isValid());
      assertEquals(31, receive.getWrMod(0).getWr_id());
      for (int i = 0; i < 3; i++) {
        assertSame(receive, receive.execute());
        ends.client.post(End.request(IbvSendWR.IBV_WR_SEND, i, ends.client.sge(0, 8)));
        assertEquals(31, ends.server.success().getWr_id());
        ends.client.success();
      }
      assertFails("no work request 1", () -> receive.getWrMod(1));
      assertFalse(receive.free().isValid());
      assertFails("was freed", receive::execute);
    }
  }

  @Test
  void killedPeerFailsTheRequestsWithTheirQueuePair() throws IOException {
    try (Ends ends = new Ends();
        Warnings warnings = new Warnings(ends.client.qp)) {
      End client = ends.client;
      client.post(End.receive(8, client.sge(0, 8)));
      ends.hosts.network.removeDevice("soft1");
      client.post(
          client.remote(
              End.request(IbvSendWR.IBV_WR_RDMA_WRITE, 7, client.sge(0, 8)), ends.server, 0));
      List<Long> ids = new ArrayList<>();
      while (ids.size() < 2) {
        int polls = client.poll.execute().getPolls();
        for (int i = 0; i < polls; i++) {
          IbvWC wc = client.completions[i];
          ids.add(wc.getWr_id());
          IbvWcStatus expected =
              ids.size() == 1 ? IbvWcStatus.IBV_WC_RETRY_EXC_ERR : IbvWcStatus.IBV_WC_WR_FLUSH_ERR;
          assertEquals(expected, IbvWcStatus.valueOf(wc.getStatus()));
          assertEquals(client.qp.getQp_num(), wc.getQp_num());
        }
      }
      assertEquals(List.of(7L, 8L), ids);
      assertEquals(1, warnings.texts().size(), "not for requests that are flushed");
      assertTrue(warnings.texts().get(0).contains("(RETRY_EXC_ERR"), warnings.texts().get(0));
    }
  }

  @Test
  void wrongLocalKeyFailsTheRequest() throws IOException {
    try (Ends ends = new Ends()) {
      SVCPostSend call =
          prepare(ends.client, End.request(IbvSendWR.IBV_WR_SEND, 1, ends.client.sge(0, 8)));
      call.getWrMod(0).getSgeMod(0).setLkey(ends.client.mr.getLkey() + 1);
      call.execute();
      assertEquals(
          IbvWcStatus.IBV_WC_LOC_PROT_ERR,
          IbvWcStatus.valueOf(ends.client.completion().getStatus()));
    }
  }

  @Test
  void wrongRemoteKeyFailsTheRequest() throws IOException {
    try (Ends ends = new Ends()) {
      SVCPostSend call =
          prepare(
              ends.client,
              ends.client.remote(
                  End.request(IbvSendWR.IBV_WR_RDMA_READ, 1, ends.client.sge(0, 8)),
                  ends.server,
                  0));
      call.getWrMod(0).getRdmaMod().setRkey(ends.server.mr.getRkey() + 1);
      call.execute();
      assertEquals(
          IbvWcStatus.IBV_WC_REM_ACCESS_ERR,
          IbvWcStatus.valueOf(ends.client.completion().getStatus()));
    }
  }

  @Test
  void wrongArgumentsAreRefused() throws IOException {
    try (Ends ends = new Ends()) {
      End client = ends.client;
      assertFails("must not be empty", () -> client.qp.postSend(null, null));
      assertFails("must not be empty", () -> client.qp.postSend(List.of(), null));
      assertFails("must not be empty", () -> client.qp.postRecv(List.of(), null));
      List<IbvSendWR> withNull = new ArrayList<>();
      withNull.add(null);
      assertFails("number 0", () -> client.qp.postSend(withNull, null));
      assertFails("unknown opcode 12", () -> prepare(client, End.request(12, 0)));
      IbvSendWR flags = End.request(IbvSendWR.IBV_WR_SEND, 0, client.sge(0, 8));
      flags.setSend_flags(1 << 20);
      assertFails("unknown send flags 0x100000", () -> prepare(client, flags));
      IbvSendWR sges = End.request(IbvSendWR.IBV_WR_SEND, 0);
      sges.setNum_sge(2);
      assertFails("has 0 SGEs, and says 2", () -> prepare(client, sges));
      IbvRecvWR receive = new IbvRecvWR();
      receive.setNum_sge(1);
      assertFails("has 0 SGEs, and says 1", () -> client.qp.postRecv(List.of(receive), null));
      IbvSendWR odd = atomic(client, ends.server, IbvSendWR.IBV_WR_ATOMIC_FETCH_AND_ADD, 1, 0);
      odd.getAtomic().setRemote_addr(3);
      assertFails("divisible by 8", () -> prepare(client, odd));
      IbvSge[] many = new IbvSge[40];
      java.util.Arrays.setAll(many, i -> client.sge(0, 1));
      SVCPostSend tooMany = prepare(client, End.request(IbvSendWR.IBV_WR_SEND, 0, many));
      assertFails("has 40 SGEs", tooMany::execute);
    }
  }

  private static SVCPostSend prepare(End end, IbvSendWR request) throws IOException {
    return end.qp.postSend(new LinkedList<>(List.of(request)), null);
  }

  @Test
  void closedQueuePairIsRefused() throws IOException {
    try (Ends ends = new Ends()) {
      End client = ends.client;
      SVCPostSend send = prepare(client, End.request(IbvSendWR.IBV_WR_SEND, 1, client.sge(0, 8)));
      SVCPostRecv receive = client.qp.postRecv(List.of(End.receive(1)), null);
      client.cq.destroyCQ(); // With the queue pair that uses it.
      assertFails("closed", send::execute);
      assertFails("closed", receive::execute);
      client.id.destroyQP();
      assertFails("queue pair is closed", send::execute);
      assertFails("queue pair is closed", receive::execute);
      assertFails("queue pair is closed", () -> client.qp.postRecv(List.of(End.receive(1)), null));
      assertFails(
          "queue pair is closed",
          () -> prepare(client, End.request(IbvSendWR.IBV_WR_SEND, 1, client.sge(0, 8))));
    }
  }
}
