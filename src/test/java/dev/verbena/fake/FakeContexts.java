package dev.verbena.fake;

import dev.verbena.Errno;
import dev.verbena.VerbsException;
import dev.verbena.internal.Abi;
import dev.verbena.internal.Memory;
import dev.verbena.raw.ibv_context;
import dev.verbena.raw.ibv_context_ops;
import dev.verbena.raw.ibv_device_attr;
import dev.verbena.raw.ibv_port_attr;
import dev.verbena.raw.rdma_h;
import dev.verbena.raw.verbs_context;
import dev.verbena.testing.Pipe;
import java.lang.foreign.MemoryLayout;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;

/** The device list, contexts, and what can be asked of the device. */
final class FakeContexts {
  private static final int GIDS = 2;

  private final FakeDevice device;
  private final FakeProvider provider;

  FakeContexts(FakeDevice device, FakeProvider provider) {
    this.device = device;
    this.provider = provider;
  }

  public long ibv_get_device_list(long numDevices) {
    if (numDevices != 0) {
      Memory.putInt(numDevices, 1);
    }
    MemorySegment list = device.arena.allocate(2L * Long.BYTES, Long.BYTES);
    list.set(ValueLayout.JAVA_LONG, 0, device.struct.address());
    return list.address();
  }

  public void ibv_free_device_list(long list) {
    Memory.putLong(list, 0);
  }

  public long ibv_get_device_name(long ibvDevice) {
    return CStruct.at(ibvDevice, dev.verbena.raw.ibv_device.layout()).addressOf("name");
  }

  public long ibv_get_device_guid(long ibvDevice) {
    return Long.reverseBytes(FakeDevice.GUID);
  }

  public int ibv_get_device_index(long ibvDevice) {
    return 0;
  }

  public long ibv_open_device(long ibvDevice) {
    CStruct outer = CStruct.in(device.arena, verbs_context.layout());
    outer.putLong("sz", Abi.current().sizeOf(verbs_context.layout()));
    CStruct context = CStruct.at(outer.addressOf("context"), ibv_context.layout());
    Pipe events = new Pipe();
    context
        .putLong("device", ibvDevice)
        .putInt("cmd_fd", -1)
        .putInt("async_fd", events.readEnd())
        .putInt("num_comp_vectors", FakeDevice.COMPLETION_VECTORS)
        .putLong("abi_compat", rdma_h.__VERBS_ABI_IS_EXTENDED().address());
    for (MemoryLayout field : ibv_context_ops.layout().memberLayouts()) {
      String name = field.name().orElse("");
      context.putLong("ops." + name, provider.pointer(name).address());
    }
    for (MemoryLayout field : verbs_context.layout().memberLayouts()) {
      String name = field.name().orElse("");
      MemorySegment pointer = provider.pointer(name);
      if (pointer.address() != 0) {
        outer.putLong(name, pointer.address());
      }
    }
    synchronized (device) {
      device.contexts.add(context.address(), context);
      device.asyncPipes.put(context.address(), events);
    }
    return context.address();
  }

  public void ibv_close_device(long context) {
    synchronized (device) {
      device.contexts.remove(context);
      device.asyncPipes.remove(context).close();
    }
  }

  public void ibv_query_device(long context, long attr) {
    CStruct.at(attr, ibv_device_attr.layout())
        .putString("fw_ver", "memory 1.0")
        .putLong("node_guid", Long.reverseBytes(FakeDevice.GUID))
        .putLong("sys_image_guid", Long.reverseBytes(FakeDevice.GUID))
        .putLong("max_mr_size", Long.MAX_VALUE)
        .putLong("page_size_cap", 4096)
        .putInt("max_qp", 1024)
        .putInt("max_qp_wr", FakeDevice.MAX_WR)
        .putInt("max_sge", FakeDevice.MAX_SGE)
        .putInt("max_sge_rd", FakeDevice.MAX_SGE)
        .putInt("max_cq", 1024)
        .putInt("max_cqe", FakeDevice.MAX_CQE)
        .putInt("max_mr", 1024)
        .putInt("max_pd", 1024)
        .putInt("max_qp_rd_atom", 16)
        .putInt("max_qp_init_rd_atom", 16)
        .putInt("max_res_rd_atom", 1024)
        .putInt("atomic_cap", rdma_h.IBV_ATOMIC_HCA())
        .putInt("max_ah", 1024)
        .putInt("max_srq", 1024)
        .putInt("max_srq_wr", FakeDevice.MAX_WR)
        .putInt("max_srq_sge", FakeDevice.MAX_SGE)
        .putShort("max_pkeys", 1)
        .putInt(
            "device_cap_flags",
            rdma_h.IBV_DEVICE_RAW_IP_CSUM() | rdma_h.IBV_DEVICE_MANAGED_FLOW_STEERING())
        .putByte("phys_port_cnt", FakeDevice.PORTS);
  }

  /** The pointer behind {@code ibv_query_port}. */
  public int query_port(long context, byte port, long attr, long size) {
    checkPort("ibv_query_port", port);
    Memory.at(attr, size).fill((byte) 0);
    CStruct.at(attr, ibv_port_attr.layout())
        .putInt("state", rdma_h.IBV_PORT_ACTIVE())
        .putInt("max_mtu", rdma_h.IBV_MTU_4096())
        .putInt("active_mtu", rdma_h.IBV_MTU_1024())
        .putInt("gid_tbl_len", GIDS)
        .putInt("max_msg_sz", 1 << 30)
        .putShort("pkey_tbl_len", 1)
        .putByte("active_width", 2)
        .putByte("active_speed", 32)
        .putByte("phys_state", 5)
        .putByte("link_layer", rdma_h.IBV_LINK_LAYER_ETHERNET());
    return 0;
  }

  public void ibv_query_gid(long context, byte port, int index, long gid) {
    checkPort("ibv_query_gid", port);
    checkIndex("ibv_query_gid", index, GIDS);
    putGid(gid, index);
  }

  public void _ibv_query_gid_ex(
      long context, int port, int index, long entry, int flags, long entrySize) {
    checkPort("_ibv_query_gid_ex", port);
    if (index >= GIDS) {
      throw new VerbsException("_ibv_query_gid_ex", Errno.ENODATA); // An unused entry.
    }
    putGid(entry, index);
    CStruct.at(entry, dev.verbena.raw.ibv_gid_entry.layout())
        .putInt("gid_index", index)
        .putInt("port_num", port)
        .putInt("gid_type", rdma_h.IBV_GID_TYPE_ROCE_V2());
  }

  public long _ibv_query_gid_table(
      long context, long entries, long max, int flags, long entrySize) {
    int all = FakeDevice.PORTS * GIDS;
    if (max < all) {
      throw new VerbsException("_ibv_query_gid_table", Errno.EINVAL);
    }
    for (int i = 0; i < all; i++) {
      long entry = entries + i * entrySize;
      _ibv_query_gid_ex(context, 1 + i / GIDS, i % GIDS, entry, flags, entrySize);
    }
    return all;
  }

  public void ibv_query_pkey(long context, byte port, int index, long pkey) {
    checkPort("ibv_query_pkey", port);
    checkIndex("ibv_query_pkey", index, 1);
    Memory.at(pkey, Short.BYTES).set(ValueLayout.JAVA_SHORT, 0, (short) -1);
  }

  public int ibv_get_pkey_index(long context, byte port, short pkey) {
    if (pkey != -1) {
      throw new VerbsException("ibv_get_pkey_index", Errno.ENOENT);
    }
    return 0;
  }

  /** 0: link-local; 1: IPv4 10.0.0.1. */
  private static void putGid(long address, int index) {
    Memory.putLong(address, Long.reverseBytes(index == 0 ? 0xfe80_0000_0000_0000L : 0));
    Memory.putLong(
        address + Long.BYTES,
        Long.reverseBytes(index == 0 ? FakeDevice.GUID : 0x0000_ffff_0a00_0001L));
  }

  private static void checkPort(String function, int port) {
    if (port < 1 || port > FakeDevice.PORTS) {
      throw new VerbsException(function, Errno.EINVAL, "port " + port);
    }
  }

  private static void checkIndex(String function, int index, int length) {
    if (index < 0 || index >= length) {
      throw new VerbsException(function, Errno.EINVAL, "index " + index);
    }
  }
}
