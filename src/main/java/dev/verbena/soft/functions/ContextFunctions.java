package dev.verbena.soft.functions;

import dev.verbena.Errno;
import dev.verbena.internal.foreign.Memory;
import dev.verbena.internal.time.Time;
import dev.verbena.raw.ibv_device_attr;
import dev.verbena.raw.ibv_device_attr_ex;
import dev.verbena.raw.ibv_gid_entry;
import dev.verbena.raw.ibv_port_attr;
import dev.verbena.raw.ibv_values_ex;
import dev.verbena.raw.rdma_h;
import dev.verbena.soft.device.AsyncEventQueue;
import dev.verbena.soft.device.CStruct;
import dev.verbena.soft.device.CallFailure;
import dev.verbena.soft.device.Registry;
import dev.verbena.soft.device.SoftContext;
import dev.verbena.soft.device.SoftDevice;
import dev.verbena.soft.device.SoftPort;
import dev.verbena.soft.device.TagList;
import dev.verbena.soft.transport.Spreading;
import dev.verbena.soft.transport.TcpSegments;
import dev.verbena.soft.wire.Gids;

/** Contexts: queries, asynchronous events, closing. */
final class ContextFunctions {
  private static final int GID_TABLE = 16;

  /** {@code IB_UVERBS_DEVICE_FLUSH_GLOBAL}, {@code _FLUSH_PERSISTENT}, {@code _ATOMIC_WRITE}. */
  private static final long EXTENDED_CAPABILITIES = 1L << 38 | 1L << 39 | 1L << 40;

  private static final int DATAGRAM_PAGING =
      rdma_h.IBV_ODP_SUPPORT_SEND()
          | rdma_h.IBV_ODP_SUPPORT_RECV()
          | rdma_h.IBV_ODP_SUPPORT_SRQ_RECV();
  private static final int UNRELIABLE_PAGING = DATAGRAM_PAGING | rdma_h.IBV_ODP_SUPPORT_WRITE();
  private static final int RELIABLE_PAGING =
      UNRELIABLE_PAGING
          | rdma_h.IBV_ODP_SUPPORT_READ()
          | rdma_h.IBV_ODP_SUPPORT_ATOMIC()
          | rdma_h.IBV_ODP_SUPPORT_FLUSH()
          | rdma_h.IBV_ODP_SUPPORT_ATOMIC_WRITE();

  private static final int PACED =
      1 << rdma_h.IBV_QPT_RC()
          | 1 << rdma_h.IBV_QPT_UC()
          | 1 << rdma_h.IBV_QPT_UD()
          | 1 << rdma_h.IBV_QPT_RAW_PACKET();
  private static final int RAW_PACKETS = 1 << rdma_h.IBV_QPT_RAW_PACKET();

  private static final short DEFAULT_PKEY = -1;

  private static SoftContext context(long address) {
    return Registry.at(address, SoftContext.class);
  }

  public void ibv_close_device(long address) {
    SoftContext context = context(address);
    context.device.engine.locked(
        () -> {
          if (!context.device.isLost()) {
            context.requireUnused();
          }
          // That of a lost device remains registered.
          CallFailure.invalidIf(!context.device.contexts.remove(context), "it is closed");
          if (context.device.isLost()) {
            Registry.release(context);
          } else {
            Registry.remove(context);
          }
        });
    context.events.close();
  }

  // Asynchronous events

  public void ibv_get_async_event(long address, long event) {
    int errno = context(address).events.take(event);
    if (errno != 0) {
      throw CallFailure.of(errno);
    }
  }

  public void ibv_ack_async_event(long event) {
    AsyncEventQueue.acknowledge(event);
  }

  // Queries

  public void ibv_query_device(long address, long attributes) {
    SoftDevice device = context(address).device;
    Memory.at(attributes, ibv_device_attr.sizeof()).fill((byte) 0);
    CStruct struct = CStruct.at(attributes, ibv_device_attr.layout());
    struct
        .putString("fw_ver", "verbena soft")
        .putLong("node_guid", Long.reverseBytes(device.guid))
        .putLong("sys_image_guid", Long.reverseBytes(device.guid))
        .putLong("max_mr_size", Long.MAX_VALUE)
        .putLong("page_size_cap", 0xffff_f000L)
        .putInt("max_qp", SoftDevice.MAX_OBJECTS)
        .putInt("max_qp_wr", SoftDevice.MAX_WR)
        .putInt("device_cap_flags", capabilities())
        .putInt("max_sge", SoftDevice.MAX_SGE)
        .putInt("max_sge_rd", SoftDevice.MAX_SGE)
        .putInt("max_cq", SoftDevice.MAX_OBJECTS)
        .putInt("max_cqe", SoftDevice.MAX_CQE)
        .putInt("max_mr", SoftDevice.MAX_OBJECTS)
        .putInt("max_pd", SoftDevice.MAX_OBJECTS)
        .putInt("max_qp_rd_atom", SoftDevice.MAX_READS)
        .putInt("max_res_rd_atom", SoftDevice.MAX_READS * SoftDevice.MAX_OBJECTS)
        .putInt("max_qp_init_rd_atom", SoftDevice.MAX_READS)
        .putInt("atomic_cap", rdma_h.IBV_ATOMIC_HCA())
        .putInt("max_mw", SoftDevice.MAX_OBJECTS)
        .putInt("max_mcast_grp", SoftDevice.MAX_OBJECTS)
        .putInt("max_mcast_qp_attach", SoftDevice.MAX_MULTICAST)
        .putInt("max_total_mcast_qp_attach", SoftDevice.MAX_OBJECTS)
        .putInt("max_ah", SoftDevice.MAX_OBJECTS)
        .putInt("max_srq", SoftDevice.MAX_OBJECTS)
        .putInt("max_srq_wr", SoftDevice.MAX_WR)
        .putInt("max_srq_sge", SoftDevice.MAX_SGE)
        .putShort("max_pkeys", 1)
        .putByte("local_ca_ack_delay", 0)
        .putByte("phys_port_cnt", device.ports.size());
    device.profile.limit(struct);
  }

  private static int capabilities() {
    return rdma_h.IBV_DEVICE_CURR_QP_STATE_MOD()
        | rdma_h.IBV_DEVICE_PORT_ACTIVE_EVENT()
        | rdma_h.IBV_DEVICE_RC_RNR_NAK_GEN()
        | rdma_h.IBV_DEVICE_SRQ_RESIZE()
        | rdma_h.IBV_DEVICE_AUTO_PATH_MIG()
        | rdma_h.IBV_DEVICE_RESIZE_MAX_WR()
        | rdma_h.IBV_DEVICE_MEM_WINDOW()
        | rdma_h.IBV_DEVICE_MEM_WINDOW_TYPE_2B()
        | rdma_h.IBV_DEVICE_MEM_MGT_EXTENSIONS()
        | rdma_h.IBV_DEVICE_UD_AV_PORT_ENFORCE()
        | rdma_h.IBV_DEVICE_XRC()
        | rdma_h.IBV_DEVICE_RAW_MULTI()
        | rdma_h.IBV_DEVICE_RAW_IP_CSUM()
        | rdma_h.IBV_DEVICE_MANAGED_FLOW_STEERING();
  }

  public int query_device_ex(long address, long input, long attributes, long size) {
    Memory.at(attributes, size).fill((byte) 0);
    ibv_query_device(address, attributes + ibv_device_attr_ex.orig_attr$offset());
    SoftDevice device = context(address).device;
    CStruct.at(attributes, ibv_device_attr_ex.layout())
        .putLong("completion_timestamp_mask", device.clockMask())
        .putLong("hca_core_clock", device.clockKilohertz())
        .putLong(
            "device_cap_flags_ex", Integer.toUnsignedLong(capabilities()) | EXTENDED_CAPABILITIES)
        .putLong(
            "odp_caps.general_caps",
            rdma_h.IBV_ODP_SUPPORT()
                | (device.memory.isChecked() ? rdma_h.IBV_ODP_SUPPORT_IMPLICIT() : 0))
        .putInt("odp_caps.per_transport_caps.rc_odp_caps", RELIABLE_PAGING)
        .putInt("odp_caps.per_transport_caps.uc_odp_caps", UNRELIABLE_PAGING)
        .putInt("odp_caps.per_transport_caps.ud_odp_caps", DATAGRAM_PAGING)
        .putInt("xrc_odp_caps", RELIABLE_PAGING)
        .putLong("max_dm_size", SoftDevice.MAX_DEVICE_MEMORY)
        .putShort("cq_mod_caps.max_cq_count", 0xffff)
        .putShort("cq_mod_caps.max_cq_period", 0xffff)
        .putInt("phys_port_cnt_ex", device.ports.size())
        .putInt("tso_caps.max_tso", TcpSegments.MAX_LENGTH)
        .putInt("tso_caps.supported_qpts", RAW_PACKETS)
        .putInt("packet_pacing_caps.qp_rate_limit_min", 1)
        .putInt("packet_pacing_caps.qp_rate_limit_max", SoftDevice.MAX_RATE)
        .putInt("packet_pacing_caps.supported_qpts", PACED)
        .putInt("tm_caps.max_num_tags", TagList.MAX_TAGS)
        .putInt("tm_caps.flags", rdma_h.IBV_TM_CAP_RC())
        .putInt("tm_caps.max_ops", SoftDevice.MAX_WR)
        .putInt("tm_caps.max_sge", SoftDevice.MAX_SGE)
        .putInt("rss_caps.supported_qpts", RAW_PACKETS)
        .putInt("rss_caps.max_rwq_indirection_tables", SoftDevice.MAX_OBJECTS)
        .putInt("rss_caps.max_rwq_indirection_table_size", WorkQueueFunctions.MAX_TABLE)
        .putLong("rss_caps.rx_hash_fields_mask", Spreading.FIELDS)
        .putByte("rss_caps.rx_hash_function", rdma_h.IBV_RX_HASH_FUNC_TOEPLITZ())
        .putInt("max_wq_type_rq", SoftDevice.MAX_OBJECTS)
        .putInt(
            "raw_packet_caps",
            rdma_h.IBV_RAW_PACKET_CAP_CVLAN_STRIPPING()
                | rdma_h.IBV_RAW_PACKET_CAP_SCATTER_FCS()
                | rdma_h.IBV_RAW_PACKET_CAP_IP_CSUM());
    return 0;
  }

  public int query_port(long address, byte number, long attributes, long size) {
    SoftDevice device = context(address).device;
    SoftPort port = device.port(number);
    boolean active = port.isActive();
    Memory.at(attributes, size).fill((byte) 0);
    CStruct.at(attributes, ibv_port_attr.layout())
        .putInt("state", port.state)
        .putInt("max_mtu", rdma_h.IBV_MTU_4096())
        .putInt("active_mtu", device.mtuCode())
        .putInt("gid_tbl_len", device.profile.limit("gid_tbl_len", GID_TABLE))
        .putInt(
            "port_cap_flags",
            device.profile.isEfa() ? 0 : rdma_h.IBV_PORT_CM_SUP() | rdma_h.IBV_PORT_IP_BASED_GIDS())
        .putInt("max_msg_sz", device.profile.isEfa() ? device.mtu : (int) SoftDevice.MAX_MESSAGE)
        .putShort("pkey_tbl_len", 1)
        .putByte("active_width", 1)
        .putByte("active_speed", 4)
        .putByte("phys_state", active ? 5 : 3)
        .putByte("link_layer", rdma_h.IBV_LINK_LAYER_ETHERNET());
    return 0;
  }

  public void ibv_query_port(long address, byte number, long attributes) {
    int _ = query_port(address, number, attributes, 48);
  }

  private static SoftPort port(long address, int number) {
    return context(address).device.port(number);
  }

  private static void checkIndex(int index, int length) {
    CallFailure.invalidIf(index < 0 || index >= length, "index " + index + " of " + length);
  }

  public void ibv_query_gid(long address, byte number, int index, long gid) {
    SoftPort port = port(address, number);
    checkIndex(index, GID_TABLE);
    (index < port.gidTableLength ? port.gids.get(index) : new Gids(0, 0)).write(gid);
  }

  public void _ibv_query_gid_ex(
      long address, int number, int index, long entry, int flags, long size) {
    SoftPort port = port(address, number);
    checkIndex(index, GID_TABLE);
    CallFailure.unsupportedIf(flags != 0, "flags " + flags);
    if (index >= port.gidTableLength) {
      throw CallFailure.of(Errno.ENODATA, "entry " + index + " is empty");
    }
    write(port, index, entry, size);
  }

  private static void write(SoftPort port, int index, long entry, long size) {
    Memory.at(entry, size).fill((byte) 0);
    port.gids.get(index).write(entry);
    CStruct.at(entry, ibv_gid_entry.layout())
        .putInt("gid_index", index)
        .putInt("port_num", port.number)
        .putInt("gid_type", rdma_h.IBV_GID_TYPE_ROCE_V2());
  }

  public long _ibv_query_gid_table(
      long address, long entries, long max, int flags, long entrySize) {
    SoftDevice device = context(address).device;
    CallFailure.unsupportedIf(flags != 0, "flags " + flags);
    long count = 0;
    for (SoftPort port : device.ports) {
      for (int i = 0; i < port.gidTableLength; i++) {
        CallFailure.invalidIf(count == max, "more than " + max);
        write(port, i, entries + count * entrySize, entrySize);
        count++;
      }
    }
    return count;
  }

  public void ibv_query_pkey(long address, byte number, int index, long pkey) {
    SoftPort _ = port(address, number);
    checkIndex(index, 1);
    Memory.putShort(pkey, DEFAULT_PKEY);
  }

  public int ibv_get_pkey_index(long address, byte number, short pkey) {
    SoftPort _ = port(address, number);
    if (pkey != DEFAULT_PKEY) {
      throw CallFailure.of(Errno.ENOENT);
    }
    return 0;
  }

  /** The pointer behind {@code ibv_query_rt_values_ex}. */
  public int query_rt_values(long address, long values) {
    SoftDevice device = context(address).device;
    CStruct struct = CStruct.at(values, ibv_values_ex.layout());
    if (struct.getInt("comp_mask") != rdma_h.IBV_VALUES_MASK_RAW_CLOCK()) {
      return Errno.EINVAL;
    }
    // As mlx5: ticks, whatever the names of the fields say.
    struct.putLong("raw_clock.tv_sec", 0).putLong("raw_clock.tv_nsec", device.ticks(Time.now()));
    return 0;
  }
}
