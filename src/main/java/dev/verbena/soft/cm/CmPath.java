package dev.verbena.soft.cm;

import dev.verbena.raw.ibv_sa_path_rec;
import dev.verbena.raw.rdma_h;
import dev.verbena.soft.device.CStruct;
import dev.verbena.soft.device.SoftPort;
import dev.verbena.soft.wire.CmMessage.Path;

/** Paths as C structs. */
public final class CmPath {
  private static final byte EXACTLY = 2;

  private CmPath() {}

  /** Writes a {@code struct ibv_ah_attr} that leads along a path. */
  public static void write(CStruct attr, SoftPort port, Path path) {
    attr.putByte("is_global", 1)
        .putByte("port_num", port.number)
        .putByte("sl", path.serviceLevel())
        .putByte("grh.sgid_index", port.gids.indexOf(path.source()))
        .putInt("grh.flow_label", path.flowLabel())
        .putByte("grh.traffic_class", path.trafficClass())
        .putByte("grh.hop_limit", path.hopLimit());
    path.destination().write(attr.addressOf("grh.dgid"));
  }

  /** A {@code struct ibv_sa_path_rec} of a path. */
  static CStruct record(Path path) {
    CStruct struct =
        CStruct.allocate(ibv_sa_path_rec.layout())
            .putInt("flow_label", Integer.reverseBytes(path.flowLabel()))
            .putByte("hop_limit", path.hopLimit())
            .putByte("traffic_class", path.trafficClass())
            .putInt("reversible", 1)
            .putByte("numb_path", 1)
            .putShort("pkey", -1)
            .putByte("sl", path.serviceLevel())
            .putByte("mtu_selector", EXACTLY)
            .putByte("mtu", rdma_h.IBV_MTU_4096())
            .putByte("rate_selector", EXACTLY)
            .putByte("packet_life_time_selector", EXACTLY)
            .putByte("packet_life_time", path.ackTimeout() - 1);
    path.source().write(struct.addressOf("sgid"));
    path.destination().write(struct.addressOf("dgid"));
    return struct;
  }
}
