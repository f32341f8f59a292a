package dev.verbena.soft.functions;

import dev.verbena.Errno;
import dev.verbena.internal.foreign.Memory;
import dev.verbena.raw.ibv_ece;
import dev.verbena.raw.ibv_qp_attr;
import dev.verbena.raw.ibv_qp_ex;
import dev.verbena.raw.ibv_qp_init_attr;
import dev.verbena.raw.ibv_qp_init_attr_ex;
import dev.verbena.raw.ibv_qp_rate_limit_attr;
import dev.verbena.raw.rdma_h;
import dev.verbena.soft.device.CStruct;
import dev.verbena.soft.device.CallFailure;
import dev.verbena.soft.device.Profile;
import dev.verbena.soft.device.Registry;
import dev.verbena.soft.device.SoftAddressVector;
import dev.verbena.soft.device.SoftCompletionQueue;
import dev.verbena.soft.device.SoftContext;
import dev.verbena.soft.device.SoftDevice;
import dev.verbena.soft.device.SoftDomain;
import dev.verbena.soft.device.SoftObject;
import dev.verbena.soft.device.SoftPort;
import dev.verbena.soft.device.SoftSharedQueue;
import dev.verbena.soft.device.SoftXrcDomain;
import dev.verbena.soft.transport.QueuePairChoices;
import dev.verbena.soft.transport.SoftIndirectionTable;
import dev.verbena.soft.transport.SoftQueuePair;
import dev.verbena.soft.transport.Spreading;
import dev.verbena.soft.transport.StateTransitions;
import dev.verbena.soft.wire.Gids;
import dev.verbena.soft.wire.Psn;
import java.lang.foreign.MemoryLayout.PathElement;

/** Queue pairs. */
final class QueuePairFunctions {
  /** The vendor and the options of enhanced connection establishment (ECE). */
  static final int VENDOR = 0x76_6272;

  private static final int OF_RAW_PACKETS =
      rdma_h.IBV_QP_INIT_ATTR_MAX_TSO_HEADER()
          | rdma_h.IBV_QP_INIT_ATTR_IND_TABLE()
          | rdma_h.IBV_QP_INIT_ATTR_RX_HASH();
  private static final int KNOWN =
      rdma_h.IBV_QP_INIT_ATTR_PD()
          | rdma_h.IBV_QP_INIT_ATTR_XRCD()
          | rdma_h.IBV_QP_INIT_ATTR_SEND_OPS_FLAGS()
          | rdma_h.IBV_QP_INIT_ATTR_CREATE_FLAGS()
          | OF_RAW_PACKETS;

  private static SoftQueuePair queuePair(long address) {
    return Registry.at(address, SoftQueuePair.class);
  }

  private static <T extends SoftObject> T optional(long address, Class<T> type) {
    return address == 0 ? null : Registry.at(address, type);
  }

  // Creation

  public long ibv_create_qp(long pd, long initAttr) {
    SoftDomain domain = Registry.at(pd, SoftDomain.class);
    checkType(initAttr, domain, null);
    return create(domain.context, domain, null, initAttr, QueuePairChoices.NONE);
  }

  public long create_qp_ex(long context, long initAttr) {
    SoftContext owner = Registry.at(context, SoftContext.class);
    CStruct asked = CStruct.at(initAttr, ibv_qp_init_attr_ex.layout());
    int mask = asked.getInt("comp_mask");
    CallFailure.unsupportedIf((mask & ~KNOWN) != 0, "comp_mask 0x" + Integer.toHexString(mask));
    SoftDomain domain =
        (mask & rdma_h.IBV_QP_INIT_ATTR_PD()) == 0
            ? null
            : Registry.at(asked.getLong("pd"), SoftDomain.class);
    SoftXrcDomain xrcDomain =
        (mask & rdma_h.IBV_QP_INIT_ATTR_XRCD()) == 0
            ? null
            : Registry.at(asked.getLong("xrcd"), SoftXrcDomain.class);
    QueuePairChoices choices = choices(asked, mask);
    checkType(initAttr, domain, xrcDomain);
    return create(owner, domain, xrcDomain, initAttr, choices);
  }

  private static QueuePairChoices choices(CStruct asked, int mask) {
    int type = asked.getInt("qp_type");
    boolean raw = type == rdma_h.IBV_QPT_RAW_PACKET();
    int flags =
        (mask & rdma_h.IBV_QP_INIT_ATTR_CREATE_FLAGS()) != 0 ? asked.getInt("create_flags") : 0;
    CallFailure.unsupportedIf(
        (flags & ~QueuePairChoices.allowedFlags(type)) != 0,
        "create_flags 0x" + Integer.toHexString(flags));
    if (!raw && (mask & OF_RAW_PACKETS) != 0) {
      throw CallFailure.of(
          Errno.EOPNOTSUPP, "comp_mask 0x" + Integer.toHexString(mask & OF_RAW_PACKETS));
    }
    int hashed = mask & (rdma_h.IBV_QP_INIT_ATTR_IND_TABLE() | rdma_h.IBV_QP_INIT_ATTR_RX_HASH());
    CallFailure.invalidIf(
        Integer.bitCount(hashed) == 1, "rwq_ind_tbl and rx_hash_conf are given together");
    return new QueuePairChoices(
        (mask & rdma_h.IBV_QP_INIT_ATTR_SEND_OPS_FLAGS()) != 0
            ? asked.getLong("send_ops_flags")
            : 0,
        flags,
        (mask & rdma_h.IBV_QP_INIT_ATTR_MAX_TSO_HEADER()) != 0
            ? asked.getShort("max_tso_header")
            : 0,
        hashed == 0
            ? null
            : Spreading.read(
                Registry.at(asked.getLong("rwq_ind_tbl"), SoftIndirectionTable.class),
                asked.addressOf("rx_hash_conf")),
        false,
        false,
        0,
        0);
  }

  /** Creates a queue pair with a {@code struct ibv_qp_init_attr}. */
  static long create(
      SoftContext owner,
      SoftDomain domain,
      SoftXrcDomain xrcDomain,
      long initAttr,
      QueuePairChoices choices) {
    CStruct init = CStruct.allocate(ibv_qp_init_attr.layout());
    init.segment().copyFrom(Memory.at(initAttr, init.size()));
    owner.device.profile.requireType(init.getInt("qp_type"));
    boolean isSrd = init.getInt("qp_type") == rdma_h.IBV_QPT_DRIVER() && choices.dcType() == 0;
    if (!isSrd) {
      checkCapacity(init, owner.device.profile);
    }
    boolean receiveOnly =
        init.getInt("qp_type") == rdma_h.IBV_QPT_XRC_RECV() || choices.spreading() != null;
    SoftCompletionQueue sendQueue =
        receiveOnly ? null : Registry.at(init.getLong("send_cq"), SoftCompletionQueue.class);
    SoftCompletionQueue receiveQueue =
        receiveOnly
            ? null
            : init.getInt("qp_type") == rdma_h.IBV_QPT_XRC_SEND()
                ? optional(init.getLong("recv_cq"), SoftCompletionQueue.class)
                : Registry.at(init.getLong("recv_cq"), SoftCompletionQueue.class);
    SoftSharedQueue sharedQueue =
        receiveOnly ? null : optional(init.getLong("srq"), SoftSharedQueue.class);
    CStruct struct =
        CStruct.allocate(ibv_qp_ex.layout())
            .putLong("qp_base.context", owner.address())
            .putLong("qp_base.qp_context", init.getLong("qp_context"))
            .putLong("qp_base.pd", domain == null ? 0 : domain.address())
            .putLong("qp_base.send_cq", init.getLong("send_cq"))
            .putLong("qp_base.recv_cq", init.getLong("recv_cq"))
            .putLong("qp_base.srq", init.getLong("srq"))
            .putInt("qp_base.qp_type", init.getInt("qp_type"));
    if (choices.operations() != 0) {
      ExtendedPosting.fill(struct, choices);
    }
    return owner.device.engine.locked(
        () -> {
          int number = owner.device.newNumber();
          boolean isTarget = choices.dcType() == QueuePairChoices.DC_TARGET;
          struct.putInt("qp_base.qp_num", isTarget ? 0 : number);
          SoftQueuePair made =
              Registry.add(
                  new SoftQueuePair(
                      owner,
                      domain,
                      struct,
                      init,
                      number,
                      sendQueue,
                      receiveQueue,
                      sharedQueue,
                      xrcDomain,
                      choices));
          writeCapacity(init, initAttr);
          return made.address();
        });
  }

  private static void checkType(long initAttr, SoftDomain domain, SoftXrcDomain xrcDomain) {
    int type = CStruct.at(initAttr, ibv_qp_init_attr.layout()).getInt("qp_type");
    CallFailure.invalidIf(
        type == rdma_h.IBV_QPT_XRC_RECV() ? xrcDomain == null : domain == null,
        "no protection domain or XRC domain");
    if (type != rdma_h.IBV_QPT_RC()
        && type != rdma_h.IBV_QPT_UC()
        && type != rdma_h.IBV_QPT_UD()
        && type != rdma_h.IBV_QPT_RAW_PACKET()
        && type != rdma_h.IBV_QPT_XRC_SEND()
        && type != rdma_h.IBV_QPT_XRC_RECV()) {
      throw CallFailure.of(Errno.EOPNOTSUPP, "qp_type " + type);
    }
  }

  private static void checkCapacity(CStruct init, Profile profile) {
    int requests = profile.limit("max_qp_wr", SoftDevice.MAX_WR);
    check(init, "max_send_wr", requests);
    check(init, "max_recv_wr", requests);
    check(init, "max_send_sge", elements(profile, "max_send_sge"));
    check(init, "max_recv_sge", elements(profile, "max_recv_sge"));
    check(init, "max_inline_data", profile.limit("max_inline_data", SoftDevice.MAX_INLINE));
  }

  /** The maximum number of SGEs of a queue: {@code max_sge}, unless the two queues differ. */
  private static int elements(Profile profile, String field) {
    return profile.limit(
        field,
        profile.limits(field) ? SoftDevice.MAX_SGE : profile.limit("max_sge", SoftDevice.MAX_SGE));
  }

  static void check(CStruct init, String field, int limit) {
    int value = init.getInt("cap." + field);
    CallFailure.invalidIf(
        value < 0 || value > limit, field + " is at most " + limit + ", not " + value);
  }

  private static void writeCapacity(CStruct init, long initAttr) {
    long offset = ibv_qp_init_attr.cap$offset();
    long size = ibv_qp_init_attr.cap$layout().byteSize();
    Memory.at(initAttr + offset, size).copyFrom(Memory.at(init.address() + offset, size));
  }

  public void ibv_destroy_qp(long address) {
    Registry.destroy(address, SoftQueuePair.class);
  }

  public long ibv_qp_to_qp_ex(long address) {
    return queuePair(address).choices.operations() != 0 ? address : 0;
  }

  // State

  public void ibv_modify_qp(long address, long attributes, int mask) {
    SoftQueuePair queuePair = queuePair(address);
    CStruct attr = CStruct.at(attributes, ibv_qp_attr.layout());
    queuePair.device.engine.locked(() -> modify(queuePair, attr, mask));
  }

  private static void modify(SoftQueuePair queuePair, CStruct attr, int mask) {
    int current =
        (mask & rdma_h.IBV_QP_CUR_STATE()) != 0 ? attr.getInt("cur_qp_state") : queuePair.state;
    int next = (mask & rdma_h.IBV_QP_STATE()) != 0 ? attr.getInt("qp_state") : current;
    CallFailure.invalidIf(
        current != queuePair.state,
        "cur_qp_state is " + current + ", the state is " + queuePair.state);
    StateTransitions.check(queuePair.type, current, next, mask);
    if (next != current) {
      queuePair.device.profile.requireConnection(next);
    }
    checkValues(queuePair, attr, mask);
    SoftAddressVector path = queuePair.path;
    if ((mask & rdma_h.IBV_QP_AV()) != 0) {
      path = SoftAddressVector.read(queuePair.device, attr.addressOf("ah_attr"));
    }
    if ((mask & rdma_h.IBV_QP_ALT_PATH()) != 0) {
      queuePair.alternatePath =
          SoftAddressVector.read(queuePair.device, attr.addressOf("alt_ah_attr"));
      copy(attr, queuePair.attributes, "alt_port_num");
      copy(attr, queuePair.attributes, "alt_timeout");
      copy(attr, queuePair.attributes, "alt_pkey_index");
    }
    queuePair.path = path;
    StateTransitions.ATTRIBUTES.forEach(
        (field, bit) -> {
          if ((mask & bit) != 0) {
            copy(attr, queuePair.attributes, field);
          }
        });
    if ((mask & rdma_h.IBV_QP_DEST_QPN()) != 0) {
      queuePair.remoteNumber = attr.getInt("dest_qp_num") & Psn.MASK;
    }
    queuePair.modified(mask, next);
    if ((mask & rdma_h.IBV_QP_PATH_MIG_STATE()) != 0 && queuePair.alternatePath != null) {
      if (attr.getInt("path_mig_state") == rdma_h.IBV_MIG_MIGRATED()) {
        queuePair.migrate();
      } else {
        queuePair.attributes.putInt("path_mig_state", rdma_h.IBV_MIG_ARMED());
      }
    }
  }

  private static void checkValues(SoftQueuePair queuePair, CStruct attr, int mask) {
    if ((mask & rdma_h.IBV_QP_PORT()) != 0) {
      SoftPort _ = queuePair.device.port(attr.getByte("port_num"));
    }
    CallFailure.invalidIf(
        (mask & rdma_h.IBV_QP_PKEY_INDEX()) != 0 && attr.getShort("pkey_index") != 0,
        "pkey_index must be 0");
    if ((mask & rdma_h.IBV_QP_PATH_MTU()) != 0) {
      int mtu = attr.getInt("path_mtu");
      CallFailure.invalidIf(
          mtu < rdma_h.IBV_MTU_256() || mtu > queuePair.device.mtuCode(),
          "path_mtu " + mtu + ", the port has active_mtu " + queuePair.device.mtuCode());
    }
    boolean isDc = queuePair.type == QueuePairChoices.DC_INITIATOR;
    int reads = isDc ? SoftDevice.MAX_DC_READS : SoftDevice.MAX_READS;
    checkReads(attr, mask, rdma_h.IBV_QP_MAX_QP_RD_ATOMIC(), "max_rd_atomic", reads);
    checkReads(attr, mask, rdma_h.IBV_QP_MAX_DEST_RD_ATOMIC(), "max_dest_rd_atomic", reads);
  }

  private static void checkReads(CStruct attr, int mask, int bit, String field, int most) {
    CallFailure.invalidIf(
        (mask & bit) != 0 && attr.getByte(field) > most,
        field + " is at most " + most + ", not " + attr.getByte(field));
  }

  private static void copy(CStruct from, CStruct to, String field) {
    long size = ibv_qp_attr.layout().select(PathElement.groupElement(field)).byteSize();
    Memory.at(to.addressOf(field), size).copyFrom(Memory.at(from.addressOf(field), size));
  }

  public void ibv_query_ece(long address, long ece) {
    SoftQueuePair queuePair = queuePair(address);
    CStruct.at(ece, ibv_ece.layout())
        .putInt("vendor_id", VENDOR)
        .putInt("options", queuePair.connectionOptions)
        .putInt("comp_mask", 0);
  }

  /** {@code ibv_set_ece}: the options that the device knows are kept, and have no effect. */
  public void ibv_set_ece(long address, long ece) {
    SoftQueuePair queuePair = queuePair(address);
    CStruct asked = CStruct.at(ece, ibv_ece.layout());
    int options = asked.getInt("options");
    CallFailure.invalidIf(
        asked.getInt("comp_mask") != 0 || (asked.getInt("vendor_id") != VENDOR && options != 0),
        "vendor_id must be 0x%x, not 0x%x".formatted(VENDOR, asked.getInt("vendor_id")));
    queuePair.device.engine.locked(
        () -> {
          queuePair.connectionOptions = options & SoftQueuePair.CONNECTION_OPTIONS;
        });
  }

  /** Limits are kept, and have no effect. */
  public int modify_qp_rate_limit(long address, long attributes) {
    SoftQueuePair queuePair = queuePair(address);
    CStruct attr = CStruct.at(attributes, ibv_qp_rate_limit_attr.layout());
    int rate = attr.getInt("rate_limit");
    if (Integer.compareUnsigned(rate, SoftDevice.MAX_RATE) > 0 || attr.getInt("comp_mask") != 0) {
      return Errno.EINVAL;
    }
    return queuePair.device.engine.locked(
        () -> {
          if (queuePair.state != rdma_h.IBV_QPS_RTS()) {
            return Errno.EINVAL;
          }
          queuePair.attributes.putInt("rate_limit", rate);
          return 0;
        });
  }

  public void ibv_query_qp(long address, long attributes, int mask, long initAttr) {
    SoftQueuePair queuePair = queuePair(address);
    queuePair.device.engine.locked(
        () -> {
          queuePair.attributes.copyTo(attributes);
          queuePair.init.copyTo(initAttr);
          long cap = ibv_qp_init_attr.cap$layout().byteSize();
          CStruct attr =
              CStruct.at(attributes, ibv_qp_attr.layout())
                  .putInt("qp_state", queuePair.state)
                  .putInt("cur_qp_state", queuePair.state)
                  .putByte("sq_draining", queuePair.isDraining() ? 1 : 0);
          Memory.at(attr.addressOf("cap"), cap)
              .copyFrom(Memory.at(queuePair.init.addressOf("cap"), cap));
        });
  }

  public int ibv_query_qp_data_in_order(long address, int opcode, int flags) {
    SoftQueuePair _ = queuePair(address);
    return 0;
  }

  // Multicast

  public void ibv_attach_mcast(long address, long gid, short lid) {
    SoftQueuePair queuePair = queuePair(address);
    Gids group = Gids.read(gid);
    queuePair.device.engine.locked(
        () -> {
          CallFailure.invalidIf(
              queuePair.type != rdma_h.IBV_QPT_UD() || !group.isMulticast(),
              "not a UD queue pair and a multicast group");
          if (queuePair.groups.add(group)) {
            queuePair.device.attach(queuePair, group);
          }
        });
  }

  public void ibv_detach_mcast(long address, long gid, short lid) {
    SoftQueuePair queuePair = queuePair(address);
    Gids group = Gids.read(gid);
    queuePair.device.engine.locked(
        () -> {
          CallFailure.invalidIf(!queuePair.groups.remove(group), "not attached");
          queuePair.device.detach(queuePair, group);
        });
  }

  // Posting

  public int post_send(long address, long wr, long badWr) {
    SoftQueuePair queuePair = SoftQueuePair.at(address);
    return queuePair == null
        ? ListPosting.refuse(Errno.EINVAL, wr, badWr)
        : ListPosting.send(queuePair, wr, badWr);
  }

  public int post_recv(long address, long wr, long badWr) {
    SoftQueuePair queuePair = SoftQueuePair.at(address);
    if (queuePair == null || queuePair.state == rdma_h.IBV_QPS_RESET()) {
      return ListPosting.refuse(Errno.EINVAL, wr, badWr);
    }
    int errno = ListPosting.receive(queuePair.device, queuePair.receives, wr, badWr);
    if (queuePair.state == rdma_h.IBV_QPS_ERR()) {
      queuePair.device.engine.request(queuePair.task);
    }
    return errno;
  }
}
