package dev.verbena.verbs;

import dev.verbena.raw.ibv_device_attr_ex;
import dev.verbena.raw.ibv_odp_caps;
import dev.verbena.raw.rdma_h;
import java.lang.foreign.MemorySegment;
import java.util.Set;

/**
 * The on-demand paging (ODP) capabilities of a device: {@code struct ibv_odp_caps}.
 *
 * @param supported whether on-demand paging is supported
 * @param implicit whether the whole address space can be registered as one region
 * @param rc the operations of RC that may use such memory
 * @param uc the operations of UC
 * @param ud the operations of UD
 * @param xrc the operations of XRC
 */
public record OdpCapabilities(
    boolean supported,
    boolean implicit,
    Set<OdpOperation> rc,
    Set<OdpOperation> uc,
    Set<OdpOperation> ud,
    Set<OdpOperation> xrc) {

  /** Copies the sets. */
  public OdpCapabilities {
    rc = Set.copyOf(rc);
    uc = Set.copyOf(uc);
    ud = Set.copyOf(ud);
    xrc = Set.copyOf(xrc);
  }

  static OdpCapabilities readFrom(MemorySegment deviceAttributes) {
    MemorySegment caps = ibv_device_attr_ex.odp_caps(deviceAttributes);
    MemorySegment transports = ibv_odp_caps.per_transport_caps(caps);
    long general = ibv_odp_caps.general_caps(caps);
    return new OdpCapabilities(
        (general & rdma_h.IBV_ODP_SUPPORT()) != 0,
        (general & rdma_h.IBV_ODP_SUPPORT_IMPLICIT()) != 0,
        operations(ibv_odp_caps.per_transport_caps.rc_odp_caps(transports)),
        operations(ibv_odp_caps.per_transport_caps.uc_odp_caps(transports)),
        operations(ibv_odp_caps.per_transport_caps.ud_odp_caps(transports)),
        operations(ibv_device_attr_ex.xrc_odp_caps(deviceAttributes)));
  }

  private static Set<OdpOperation> operations(int mask) {
    return FlagSet.of(OdpOperation.class, mask);
  }
}
