package dev.verbena.attributes;

import dev.verbena.FlagSet;
import dev.verbena.internal.AttributeText;
import dev.verbena.raw.ibv_device_attr_ex;
import dev.verbena.raw.ibv_odp_caps;
import dev.verbena.raw.rdma_h;
import java.lang.foreign.MemorySegment;

/** The on-demand paging (ODP) capabilities of a device: {@code struct ibv_odp_caps}. */
public final class OdpCapabilities {
  private final MemorySegment struct;

  /** Keeps a {@code struct ibv_device_attr_ex} that is not written to any more. */
  OdpCapabilities(MemorySegment struct) {
    this.struct = struct;
  }

  /** {@return whether on-demand paging is supported} */
  public boolean supported() {
    return has(rdma_h.IBV_ODP_SUPPORT());
  }

  /** {@return whether the whole address space can be registered as one region} */
  public boolean implicit() {
    return has(rdma_h.IBV_ODP_SUPPORT_IMPLICIT());
  }

  /** {@return the operations of RC that may use such memory} */
  public FlagSet<OdpOperation> rc() {
    return operations(ibv_odp_caps.per_transport_caps.rc_odp_caps(transports()));
  }

  /** {@return the operations of UC that may use such memory} */
  public FlagSet<OdpOperation> uc() {
    return operations(ibv_odp_caps.per_transport_caps.uc_odp_caps(transports()));
  }

  /** {@return the operations of UD that may use such memory} */
  public FlagSet<OdpOperation> ud() {
    return operations(ibv_odp_caps.per_transport_caps.ud_odp_caps(transports()));
  }

  /** {@return the operations of XRC that may use such memory} */
  public FlagSet<OdpOperation> xrc() {
    return operations(ibv_device_attr_ex.xrc_odp_caps(struct));
  }

  private boolean has(int flag) {
    return (ibv_odp_caps.general_caps(ibv_device_attr_ex.odp_caps(struct)) & flag) != 0;
  }

  private MemorySegment transports() {
    return ibv_odp_caps.per_transport_caps(ibv_device_attr_ex.odp_caps(struct));
  }

  private static FlagSet<OdpOperation> operations(int mask) {
    return FlagSet.of(OdpOperation.class, Integer.toUnsignedLong(mask));
  }

  @Override
  public String toString() {
    return new AttributeText(OdpCapabilities.class)
        .add("supported", supported())
        .add("implicit", implicit())
        .add("rc", rc())
        .add("uc", uc())
        .add("ud", ud())
        .add("xrc", xrc())
        .toString();
  }
}
