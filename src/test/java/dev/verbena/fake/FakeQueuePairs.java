package dev.verbena.fake;

import dev.verbena.Errno;
import dev.verbena.VerbsException;
import dev.verbena.fake.FakeDevice.Cq;
import dev.verbena.fake.FakeDevice.Qp;
import dev.verbena.fake.FakeDevice.ReceiveQueue;
import dev.verbena.fake.FakeDevice.Request;
import dev.verbena.internal.Memory;
import dev.verbena.raw.ibv_qp;
import dev.verbena.raw.ibv_qp_attr;
import dev.verbena.raw.ibv_qp_init_attr;
import dev.verbena.raw.ibv_recv_wr;
import dev.verbena.raw.ibv_send_wr;
import dev.verbena.raw.rdma_h;
import java.lang.foreign.MemoryLayout;
import java.lang.foreign.MemoryLayout.PathElement;
import java.util.Map;

/** Queue pairs: their states, and what is posted to them. */
final class FakeQueuePairs {
  private static final int RC_INIT =
      rdma_h.IBV_QP_PKEY_INDEX() | rdma_h.IBV_QP_PORT() | rdma_h.IBV_QP_ACCESS_FLAGS();
  private static final int UD_INIT =
      rdma_h.IBV_QP_PKEY_INDEX() | rdma_h.IBV_QP_PORT() | rdma_h.IBV_QP_QKEY();
  private static final int UC_RTR =
      rdma_h.IBV_QP_AV()
          | rdma_h.IBV_QP_PATH_MTU()
          | rdma_h.IBV_QP_DEST_QPN()
          | rdma_h.IBV_QP_RQ_PSN();
  private static final int RC_RTR =
      UC_RTR | rdma_h.IBV_QP_MAX_DEST_RD_ATOMIC() | rdma_h.IBV_QP_MIN_RNR_TIMER();
  private static final int RC_RTS =
      rdma_h.IBV_QP_SQ_PSN()
          | rdma_h.IBV_QP_TIMEOUT()
          | rdma_h.IBV_QP_RETRY_CNT()
          | rdma_h.IBV_QP_RNR_RETRY()
          | rdma_h.IBV_QP_MAX_QP_RD_ATOMIC();

  private static final Map<Integer, String> FIELDS =
      Map.ofEntries(
          Map.entry(rdma_h.IBV_QP_ACCESS_FLAGS(), "qp_access_flags"),
          Map.entry(rdma_h.IBV_QP_PKEY_INDEX(), "pkey_index"),
          Map.entry(rdma_h.IBV_QP_PORT(), "port_num"),
          Map.entry(rdma_h.IBV_QP_QKEY(), "qkey"),
          Map.entry(rdma_h.IBV_QP_AV(), "ah_attr"),
          Map.entry(rdma_h.IBV_QP_PATH_MTU(), "path_mtu"),
          Map.entry(rdma_h.IBV_QP_TIMEOUT(), "timeout"),
          Map.entry(rdma_h.IBV_QP_RETRY_CNT(), "retry_cnt"),
          Map.entry(rdma_h.IBV_QP_RNR_RETRY(), "rnr_retry"),
          Map.entry(rdma_h.IBV_QP_RQ_PSN(), "rq_psn"),
          Map.entry(rdma_h.IBV_QP_MAX_QP_RD_ATOMIC(), "max_rd_atomic"),
          Map.entry(rdma_h.IBV_QP_MIN_RNR_TIMER(), "min_rnr_timer"),
          Map.entry(rdma_h.IBV_QP_SQ_PSN(), "sq_psn"),
          Map.entry(rdma_h.IBV_QP_MAX_DEST_RD_ATOMIC(), "max_dest_rd_atomic"),
          Map.entry(rdma_h.IBV_QP_DEST_QPN(), "dest_qp_num"));

  private final FakeDevice device;
  private final FakeWire wire;

  FakeQueuePairs(FakeDevice device, FakeWire wire) {
    this.device = device;
    this.wire = wire;
  }

  public long ibv_create_qp(long pd, long initAttr) {
    synchronized (device) {
      CStruct asked = CStruct.at(initAttr, ibv_qp_init_attr.layout());
      if (asked.getInt("cap.max_send_wr") > FakeDevice.MAX_WR
          || asked.getInt("cap.max_recv_wr") > FakeDevice.MAX_WR
          || asked.getInt("cap.max_send_sge") > FakeDevice.MAX_SGE
          || asked.getInt("cap.max_recv_sge") > FakeDevice.MAX_SGE
          || asked.getInt("cap.max_inline_data") > FakeDevice.MAX_INLINE
          || asked.getLong("send_cq") == 0
          || asked.getLong("recv_cq") == 0) {
        throw new VerbsException("ibv_create_qp", Errno.EINVAL);
      }
      CStruct init = CStruct.in(device.arena, ibv_qp_init_attr.layout());
      FakeRegions.copy(initAttr, init.address(), ibv_qp_init_attr.sizeof());
      Cq sendCq = device.completionQueues.at(asked.getLong("send_cq"));
      Cq recvCq = device.completionQueues.at(asked.getLong("recv_cq"));
      long srq = asked.getLong("srq");
      ReceiveQueue receives =
          srq != 0
              ? device.sharedQueues.at(srq)
              : new ReceiveQueue(
                  0, asked.getInt("cap.max_recv_wr"), asked.getInt("cap.max_recv_sge"));
      int number = device.nextNumber();
      CStruct struct =
          CStruct.in(device.arena, ibv_qp.layout())
              .putLong("context", device.domains.at(pd).getLong("context"))
              .putLong("qp_context", asked.getLong("qp_context"))
              .putLong("pd", pd)
              .putLong("send_cq", asked.getLong("send_cq"))
              .putLong("recv_cq", asked.getLong("recv_cq"))
              .putLong("srq", srq)
              .putInt("handle", number)
              .putInt("qp_num", number)
              .putInt("qp_type", asked.getInt("qp_type"));
      sendCq.users++;
      recvCq.users++;
      receives.users++;
      device.queuePairs.add(
          struct.address(),
          new Qp(
              struct,
              number,
              init,
              pd,
              sendCq,
              recvCq,
              receives,
              CStruct.in(device.arena, ibv_qp_attr.layout())));
      return struct.address();
    }
  }

  public void ibv_destroy_qp(long address) {
    synchronized (device) {
      Qp qp = device.queuePairs.at(address);
      // The kernel of Soft-RoCE waits for windows instead, and then warns.
      if (!qp.groups.isEmpty()
          || device.binders.containsValue(address)
          || device.flows.all().stream().anyMatch(flow -> flow.target() == qp)) {
        throw new VerbsException("ibv_destroy_qp", Errno.EBUSY);
      }
      qp.sendCq.users--;
      qp.recvCq.users--;
      qp.receives.users--;
      qp.sendCq.entries.removeIf(c -> c.qp() == qp.number);
      qp.recvCq.entries.removeIf(c -> c.qp() == qp.number);
      device.queuePairs.remove(address);
    }
  }

  public void ibv_attach_mcast(long qp, long gid, short lid) {
    synchronized (device) {
      device.queuePairs.at(qp).groups.add(group(gid, lid));
    }
  }

  public void ibv_detach_mcast(long qp, long gid, short lid) {
    synchronized (device) {
      if (!device.queuePairs.at(qp).groups.remove(group(gid, lid))) {
        throw new VerbsException("ibv_detach_mcast", Errno.EINVAL);
      }
    }
  }

  private static String group(long gid, short lid) {
    return Memory.getLong(gid) + " " + Memory.getLong(gid + Long.BYTES) + " " + lid;
  }

  public void ibv_modify_qp(long address, long attributes, int mask) {
    synchronized (device) {
      Qp qp = device.queuePairs.at(address);
      CStruct attr = CStruct.at(attributes, ibv_qp_attr.layout());
      int next = (mask & rdma_h.IBV_QP_STATE()) != 0 ? attr.getInt("qp_state") : qp.state;
      int required = required(qp.type, qp.state, next);
      if ((mask & required) != required) {
        throw new VerbsException("ibv_modify_qp", Errno.EINVAL);
      }
      FIELDS.forEach(
          (bit, field) -> {
            if ((mask & bit) != 0) {
              long size = field(field).byteSize();
              FakeRegions.copy(attr.addressOf(field), qp.attributes.addressOf(field), size);
            }
          });
      qp.state = next;
      qp.struct.putInt("state", next);
      if (next == rdma_h.IBV_QPS_ERR()) {
        wire.flush(qp);
      } else if (next == rdma_h.IBV_QPS_RESET()) {
        qp.sends.clear();
        if (qp.receives.shared == 0) {
          qp.receives.entries.clear();
        }
      }
      wire.runAll();
    }
  }

  private static MemoryLayout field(String name) {
    return ibv_qp_attr.layout().select(PathElement.groupElement(name));
  }

  /** The attributes that a change of state needs, or EINVAL if it is none. */
  private static int required(int type, int from, int to) {
    boolean connected = type == rdma_h.IBV_QPT_RC() || type == rdma_h.IBV_QPT_UC();
    boolean reliable = type == rdma_h.IBV_QPT_RC();
    if (to == rdma_h.IBV_QPS_ERR() || to == rdma_h.IBV_QPS_RESET()) {
      return 0;
    } else if (from == rdma_h.IBV_QPS_RESET() && to == rdma_h.IBV_QPS_INIT()) {
      return connected ? RC_INIT : type == rdma_h.IBV_QPT_UD() ? UD_INIT : rdma_h.IBV_QP_PORT();
    } else if (from == rdma_h.IBV_QPS_INIT() && to == rdma_h.IBV_QPS_RTR()) {
      return reliable ? RC_RTR : connected ? UC_RTR : 0;
    } else if (from == rdma_h.IBV_QPS_RTR() && to == rdma_h.IBV_QPS_RTS()) {
      boolean raw = type == rdma_h.IBV_QPT_RAW_PACKET();
      return reliable ? RC_RTS : raw ? 0 : rdma_h.IBV_QP_SQ_PSN();
    } else if (from == to
        || (from == rdma_h.IBV_QPS_RTS() && to == rdma_h.IBV_QPS_SQD())
        || (from == rdma_h.IBV_QPS_SQD() && to == rdma_h.IBV_QPS_RTS())) {
      return 0;
    }
    throw new VerbsException("ibv_modify_qp", Errno.EINVAL, from + " to " + to);
  }

  public void ibv_query_qp(long address, long attributes, int mask, long initAttr) {
    synchronized (device) {
      Qp qp = device.queuePairs.at(address);
      FakeRegions.copy(qp.attributes.address(), attributes, ibv_qp_attr.sizeof());
      FakeRegions.copy(qp.init.address(), initAttr, ibv_qp_init_attr.sizeof());
      CStruct attr = CStruct.at(attributes, ibv_qp_attr.layout());
      attr.putInt("qp_state", qp.state).putInt("cur_qp_state", qp.state);
      FakeRegions.copy(qp.init.addressOf("cap"), attr.addressOf("cap"), field("cap").byteSize());
    }
  }

  public long ibv_qp_to_qp_ex(long address) {
    return 0;
  }

  /** The pointer behind {@code ibv_post_send}. */
  public int post_send(long address, long first, long badWr) {
    synchronized (device) {
      Qp qp = device.queuePairs.at(address);
      wire.runAll(); // It may have been held until now.
      int result = 0;
      for (long wr = first; wr != 0 && result == 0; ) {
        result = queue(qp, wr);
        if (result != 0) {
          Memory.putLong(badWr, wr);
        }
        wr = CStruct.at(wr, ibv_send_wr.layout()).getLong("next");
      }
      if (qp.state == rdma_h.IBV_QPS_ERR()) {
        wire.flush(qp);
      }
      wire.runAll();
      return result;
    }
  }

  private int queue(Qp qp, long wr) {
    if (qp.state != rdma_h.IBV_QPS_RTS()
        && qp.state != rdma_h.IBV_QPS_SQD()
        && qp.state != rdma_h.IBV_QPS_ERR()) {
      return Errno.EINVAL;
    }
    if (qp.sends.size() >= qp.capacity("max_send_wr")) {
      return Errno.ENOMEM;
    }
    CStruct struct = CStruct.at(wr, ibv_send_wr.layout());
    if (struct.getInt("num_sge") > qp.capacity("max_send_sge")) {
      return Errno.EINVAL;
    }
    Request request = FakeWire.request(struct, qp.type == rdma_h.IBV_QPT_UD());
    if (request.inline() != null && request.inline().byteSize() > qp.capacity("max_inline_data")) {
      return Errno.EINVAL;
    }
    qp.sends.add(request);
    return 0;
  }

  /** The pointer behind {@code ibv_post_recv}. */
  public int post_recv(long address, long wr, long badWr) {
    synchronized (device) {
      Qp qp = device.queuePairs.at(address);
      if (qp.state == rdma_h.IBV_QPS_RESET() || qp.receives.shared != 0) {
        Memory.putLong(badWr, CStruct.at(wr, ibv_recv_wr.layout()).address());
        return Errno.EINVAL;
      }
      int result = wire.receive(qp.receives, wr, badWr);
      if (qp.state == rdma_h.IBV_QPS_ERR()) {
        wire.flush(qp);
      }
      wire.runAll();
      return result;
    }
  }
}
