package dev.verbena.attributes;

import dev.verbena.FlagSet;
import dev.verbena.internal.AttributeText;
import dev.verbena.internal.Codes;
import dev.verbena.internal.foreign.Segments;
import dev.verbena.raw.ibv_device_attr;
import dev.verbena.raw.ibv_device_attr_ex;
import java.lang.foreign.MemorySegment;

/**
 * The attributes of a device, as returned by {@code ibv_query_device_ex}: {@code struct
 * ibv_device_attr_ex}.
 *
 * <p>Attributes that only {@code ibv_query_device_ex} returns are 0, empty or false if the provider
 * or the kernel does not support it.
 */
public final class DeviceAttributes {
  private final MemorySegment struct;
  private final MemorySegment basic;

  /**
   * Creates the attributes from a C struct. Keeps the segment.
   *
   * @param struct a {@code struct ibv_device_attr_ex}, which is not written to any more
   */
  public DeviceAttributes(MemorySegment struct) {
    Segments.readable(struct, ibv_device_attr_ex.layout());
    this.struct = struct.asReadOnly();
    this.basic = ibv_device_attr_ex.orig_attr(this.struct);
  }

  /** {@return the firmware version, a text of the vendor; empty for software devices} */
  public String firmwareVersion() {
    return ibv_device_attr.fw_ver(basic).getString(0);
  }

  /** {@return the node GUID in Java's byte order} */
  public long nodeGuid() {
    return Long.reverseBytes(ibv_device_attr.node_guid(basic));
  }

  /**
   * {@return the system image GUID, which all devices of one adapter share, in Java's byte order}
   */
  public long systemImageGuid() {
    return Long.reverseBytes(ibv_device_attr.sys_image_guid(basic));
  }

  /** {@return the capability flags, basic and extended} */
  public FlagSet<DeviceCapability> capabilities() {
    long flags = Integer.toUnsignedLong(ibv_device_attr.device_cap_flags(basic));
    return FlagSet.of(
        DeviceCapability.class, flags | ibv_device_attr_ex.device_cap_flags_ex(struct));
  }

  /**
   * {@return whether a capability is one of the {@link #capabilities}}
   *
   * @param capability the capability
   */
  public boolean has(DeviceCapability capability) {
    return capabilities().contains(capability);
  }

  /**
   * {@return whether a capability is one of the {@link #rawPacketCapabilities}}
   *
   * @param capability the capability
   */
  public boolean has(RawPacketCapability capability) {
    return rawPacketCapabilities().contains(capability);
  }

  /** {@return the scope in which atomic operations are atomic} */
  public AtomicScope atomicScope() {
    return Codes.of(AtomicScope.class, ibv_device_attr.atomic_cap(basic), AtomicScope.NONE);
  }

  /** {@return the maximum size of a memory region in bytes} */
  public long maxMemoryRegionSize() {
    return ibv_device_attr.max_mr_size(basic);
  }

  /**
   * {@return the supported page sizes: a mask whose bit n is the page size of 2 to the power of n
   * bytes}
   */
  public long pageSizes() {
    return ibv_device_attr.page_size_cap(basic);
  }

  /** {@return the vendor ID: an IEEE OUI} */
  public int vendorId() {
    return ibv_device_attr.vendor_id(basic);
  }

  /** {@return the part ID, which the vendor assigns} */
  public int vendorPartId() {
    return ibv_device_attr.vendor_part_id(basic);
  }

  /** {@return the hardware version, a number of the vendor} */
  public int hardwareVersion() {
    return ibv_device_attr.hw_ver(basic);
  }

  /** {@return the maximum number of queue pairs} */
  public int maxQueuePairs() {
    return ibv_device_attr.max_qp(basic);
  }

  /** {@return the maximum number of outstanding work requests of a send or receive queue} */
  public int maxQueuePairRequests() {
    return ibv_device_attr.max_qp_wr(basic);
  }

  /**
   * {@return the maximum number of scatter/gather elements (SGEs) of a work request, except for
   * RDMA reads}
   */
  public int maxSges() {
    return ibv_device_attr.max_sge(basic);
  }

  /** {@return the maximum number of SGEs of an RDMA read} */
  public int maxReadSges() {
    return ibv_device_attr.max_sge_rd(basic);
  }

  /** {@return the maximum number of completion queues} */
  public int maxCompletionQueues() {
    return ibv_device_attr.max_cq(basic);
  }

  /** {@return the maximum number of completions of a completion queue} */
  public int maxCompletionQueueEntries() {
    return ibv_device_attr.max_cqe(basic);
  }

  /** {@return the maximum number of memory regions} */
  public int maxMemoryRegions() {
    return ibv_device_attr.max_mr(basic);
  }

  /** {@return the maximum number of protection domains} */
  public int maxProtectionDomains() {
    return ibv_device_attr.max_pd(basic);
  }

  /**
   * {@return the maximum number of outstanding RDMA reads and atomic operations per queue pair as
   * target: the maximum of {@code max_dest_rd_atomic}}
   */
  public int maxReadsAsTarget() {
    return ibv_device_attr.max_qp_rd_atom(basic);
  }

  /**
   * {@return the maximum number of outstanding RDMA reads and atomic operations of the device as
   * target, over all queue pairs}
   */
  public int maxReadsAsTargetOfDevice() {
    return ibv_device_attr.max_res_rd_atom(basic);
  }

  /**
   * {@return the maximum number of outstanding RDMA reads and atomic operations per queue pair as
   * initiator: the maximum of {@code max_rd_atomic}}
   */
  public int maxReadsAsInitiator() {
    return ibv_device_attr.max_qp_init_rd_atom(basic);
  }

  /**
   * {@return the maximum number of outstanding RDMA reads and atomic operations per end-to-end
   * context as target} No provider implements end-to-end contexts.
   */
  public int maxEndToEndReadsAsTarget() {
    return ibv_device_attr.max_ee_rd_atom(basic);
  }

  /**
   * {@return the maximum number of outstanding RDMA reads and atomic operations per end-to-end
   * context as initiator} No provider implements end-to-end contexts.
   */
  public int maxEndToEndReadsAsInitiator() {
    return ibv_device_attr.max_ee_init_rd_atom(basic);
  }

  /** {@return the maximum number of end-to-end contexts} No provider implements them. */
  public int maxEndToEndContexts() {
    return ibv_device_attr.max_ee(basic);
  }

  /** {@return the maximum number of reliable datagram domains} No provider implements them. */
  public int maxReliableDatagramDomains() {
    return ibv_device_attr.max_rdd(basic);
  }

  /** {@return the maximum number of memory windows} */
  public int maxMemoryWindows() {
    return ibv_device_attr.max_mw(basic);
  }

  /** {@return the maximum number of raw IPv6 queue pairs} */
  public int maxRawIpv6QueuePairs() {
    return ibv_device_attr.max_raw_ipv6_qp(basic);
  }

  /** {@return the maximum number of raw Ethertype queue pairs} */
  public int maxRawEthertypeQueuePairs() {
    return ibv_device_attr.max_raw_ethy_qp(basic);
  }

  /** {@return the maximum number of multicast groups} */
  public int maxMulticastGroups() {
    return ibv_device_attr.max_mcast_grp(basic);
  }

  /** {@return the maximum number of queue pairs attached to one multicast group} */
  public int maxQueuePairsOfMulticastGroup() {
    return ibv_device_attr.max_mcast_qp_attach(basic);
  }

  /** {@return the maximum number of queue pairs attached to multicast groups, over all groups} */
  public int maxMulticastAttachments() {
    return ibv_device_attr.max_total_mcast_qp_attach(basic);
  }

  /** {@return the maximum number of address handles} */
  public int maxAddressHandles() {
    return ibv_device_attr.max_ah(basic);
  }

  /** {@return the maximum number of fast memory regions} */
  public int maxFastMemoryRegions() {
    return ibv_device_attr.max_fmr(basic);
  }

  /** {@return the maximum number of mappings of a fast memory region before it must be unmapped} */
  public int maxMapsOfFastMemoryRegion() {
    return ibv_device_attr.max_map_per_fmr(basic);
  }

  /** {@return the maximum number of shared receive queues} */
  public int maxSharedReceiveQueues() {
    return ibv_device_attr.max_srq(basic);
  }

  /** {@return the maximum number of receive requests of a shared receive queue} */
  public int maxSharedReceiveQueueRequests() {
    return ibv_device_attr.max_srq_wr(basic);
  }

  /** {@return the maximum number of SGEs of a receive request of a shared receive queue} */
  public int maxSharedReceiveQueueSges() {
    return ibv_device_attr.max_srq_sge(basic);
  }

  /** {@return the maximum number of partitions: the length of the P_Key table} */
  public int maxPkeys() {
    return Short.toUnsignedInt(ibv_device_attr.max_pkeys(basic));
  }

  /**
   * {@return the local CA ACK delay, the maximum time in which the device acknowledges a packet: n,
   * for 4.096 microseconds times 2 to the power of n}
   */
  public int localAckDelay() {
    return Byte.toUnsignedInt(ibv_device_attr.local_ca_ack_delay(basic));
  }

  /** {@return the number of ports; ports are numbered from 1} */
  public int portCount() {
    int extended = ibv_device_attr_ex.phys_port_cnt_ex(struct);
    return extended == 0 ? Byte.toUnsignedInt(ibv_device_attr.phys_port_cnt(basic)) : extended;
  }

  /** {@return the on-demand paging (ODP) capabilities} */
  public OdpCapabilities onDemandPaging() {
    return new OdpCapabilities(struct);
  }

  /**
   * {@return the mask of the valid bits of a completion timestamp; 0 if timestamps are not
   * supported}
   */
  public long completionTimestampMask() {
    return ibv_device_attr_ex.completion_timestamp_mask(struct);
  }

  /**
   * {@return the frequency in kHz of the device clock, which completion timestamps are taken from;
   * 0 if there is no clock}
   */
  public long coreClockKilohertz() {
    return ibv_device_attr_ex.hca_core_clock(struct);
  }

  /** {@return the TCP segmentation offload (TSO) capabilities} */
  public TsoCapabilities tcpSegmentation() {
    return new TsoCapabilities(ibv_device_attr_ex.tso_caps(struct));
  }

  /** {@return the receive side scaling (RSS) capabilities} */
  public RssCapabilities receiveSideScaling() {
    return new RssCapabilities(ibv_device_attr_ex.rss_caps(struct));
  }

  /** {@return the maximum number of receive work queues} */
  public int maxReceiveWorkQueues() {
    return ibv_device_attr_ex.max_wq_type_rq(struct);
  }

  /** {@return the packet pacing capabilities} */
  public PacketPacingCapabilities packetPacing() {
    return new PacketPacingCapabilities(ibv_device_attr_ex.packet_pacing_caps(struct));
  }

  /** {@return the raw packet capabilities} */
  public FlagSet<RawPacketCapability> rawPacketCapabilities() {
    return FlagSet.of(
        RawPacketCapability.class,
        Integer.toUnsignedLong(ibv_device_attr_ex.raw_packet_caps(struct)));
  }

  /** {@return the tag matching (TM) capabilities} */
  public TagMatchingCapabilities tagMatching() {
    return new TagMatchingCapabilities(ibv_device_attr_ex.tm_caps(struct));
  }

  /** {@return the completion moderation capabilities} */
  public ModerationCapabilities completionModeration() {
    return new ModerationCapabilities(ibv_device_attr_ex.cq_mod_caps(struct));
  }

  /** {@return the maximum size of device memory in bytes; 0 if there is none} */
  public long maxDeviceMemory() {
    return ibv_device_attr_ex.max_dm_size(struct);
  }

  /** {@return the PCI atomic operation capabilities} */
  public PciAtomicCapabilities pciAtomics() {
    return new PciAtomicCapabilities(ibv_device_attr_ex.pci_atomic_caps(struct));
  }

  @Override
  public String toString() {
    return new AttributeText(DeviceAttributes.class)
        .add("firmwareVersion", firmwareVersion())
        .add("nodeGuid", nodeGuid())
        .add("systemImageGuid", systemImageGuid())
        .add("capabilities", capabilities())
        .add("atomicScope", atomicScope())
        .add("maxMemoryRegionSize", maxMemoryRegionSize())
        .add("pageSizes", pageSizes())
        .add("vendorId", vendorId())
        .add("vendorPartId", vendorPartId())
        .add("hardwareVersion", hardwareVersion())
        .add("maxQueuePairs", maxQueuePairs())
        .add("maxQueuePairRequests", maxQueuePairRequests())
        .add("maxSges", maxSges())
        .add("maxReadSges", maxReadSges())
        .add("maxCompletionQueues", maxCompletionQueues())
        .add("maxCompletionQueueEntries", maxCompletionQueueEntries())
        .add("maxMemoryRegions", maxMemoryRegions())
        .add("maxProtectionDomains", maxProtectionDomains())
        .add("maxReadsAsTarget", maxReadsAsTarget())
        .add("maxReadsAsTargetOfDevice", maxReadsAsTargetOfDevice())
        .add("maxReadsAsInitiator", maxReadsAsInitiator())
        .add("maxEndToEndReadsAsTarget", maxEndToEndReadsAsTarget())
        .add("maxEndToEndReadsAsInitiator", maxEndToEndReadsAsInitiator())
        .add("maxEndToEndContexts", maxEndToEndContexts())
        .add("maxReliableDatagramDomains", maxReliableDatagramDomains())
        .add("maxMemoryWindows", maxMemoryWindows())
        .add("maxRawIpv6QueuePairs", maxRawIpv6QueuePairs())
        .add("maxRawEthertypeQueuePairs", maxRawEthertypeQueuePairs())
        .add("maxMulticastGroups", maxMulticastGroups())
        .add("maxQueuePairsOfMulticastGroup", maxQueuePairsOfMulticastGroup())
        .add("maxMulticastAttachments", maxMulticastAttachments())
        .add("maxAddressHandles", maxAddressHandles())
        .add("maxFastMemoryRegions", maxFastMemoryRegions())
        .add("maxMapsOfFastMemoryRegion", maxMapsOfFastMemoryRegion())
        .add("maxSharedReceiveQueues", maxSharedReceiveQueues())
        .add("maxSharedReceiveQueueRequests", maxSharedReceiveQueueRequests())
        .add("maxSharedReceiveQueueSges", maxSharedReceiveQueueSges())
        .add("maxPkeys", maxPkeys())
        .add("localAckDelay", localAckDelay())
        .add("portCount", portCount())
        .add("onDemandPaging", onDemandPaging())
        .add("completionTimestampMask", completionTimestampMask())
        .add("coreClockKilohertz", coreClockKilohertz())
        .add("tcpSegmentation", tcpSegmentation())
        .add("receiveSideScaling", receiveSideScaling())
        .add("maxReceiveWorkQueues", maxReceiveWorkQueues())
        .add("packetPacing", packetPacing())
        .add("rawPacketCapabilities", rawPacketCapabilities())
        .add("tagMatching", tagMatching())
        .add("completionModeration", completionModeration())
        .add("maxDeviceMemory", maxDeviceMemory())
        .add("pciAtomics", pciAtomics())
        .toString();
  }
}
