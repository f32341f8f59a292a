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
    Segments.readable(struct, ibv_device_attr_ex.sizeof());
    this.struct = struct.asReadOnly();
    this.basic = ibv_device_attr_ex.orig_attr(this.struct);
  }

  /**
   * Returns the firmware version.
   *
   * @return the text of the vendor; empty for software devices
   */
  public String firmwareVersion() {
    return ibv_device_attr.fw_ver(basic).getString(0);
  }

  /**
   * Returns the node GUID.
   *
   * @return the GUID in Java's byte order
   */
  public long nodeGuid() {
    return Long.reverseBytes(ibv_device_attr.node_guid(basic));
  }

  /**
   * Returns the system image GUID, which all devices of one adapter share.
   *
   * @return the GUID in Java's byte order
   */
  public long systemImageGuid() {
    return Long.reverseBytes(ibv_device_attr.sys_image_guid(basic));
  }

  /**
   * Returns the capability flags, basic and extended.
   *
   * @return the flags
   */
  public FlagSet<DeviceCapability> capabilities() {
    long flags = Integer.toUnsignedLong(ibv_device_attr.device_cap_flags(basic));
    return FlagSet.of(
        DeviceCapability.class, flags | ibv_device_attr_ex.device_cap_flags_ex(struct));
  }

  /**
   * Returns whether the device has a capability.
   *
   * @param capability the capability
   * @return true if it is one of the {@link #capabilities}
   */
  public boolean has(DeviceCapability capability) {
    return capabilities().contains(capability);
  }

  /**
   * Returns whether the device has a capability for raw packets.
   *
   * @param capability the capability
   * @return true if it is one of the {@link #rawPacketCapabilities}
   */
  public boolean has(RawPacketCapability capability) {
    return rawPacketCapabilities().contains(capability);
  }

  /**
   * Returns the scope in which atomic operations are atomic.
   *
   * @return the scope
   */
  public AtomicScope atomicScope() {
    return Codes.of(AtomicScope.class, ibv_device_attr.atomic_cap(basic), AtomicScope.NONE);
  }

  /**
   * Returns the maximum size of a memory region.
   *
   * @return the size in bytes
   */
  public long maxMemoryRegionSize() {
    return ibv_device_attr.max_mr_size(basic);
  }

  /**
   * Returns the supported page sizes.
   *
   * @return a mask whose bit n is the page size of 2 to the power of n bytes
   */
  public long pageSizes() {
    return ibv_device_attr.page_size_cap(basic);
  }

  /**
   * Returns the vendor ID.
   *
   * @return the IEEE OUI
   */
  public int vendorId() {
    return ibv_device_attr.vendor_id(basic);
  }

  /**
   * Returns the part ID, which the vendor assigns.
   *
   * @return the part ID
   */
  public int vendorPartId() {
    return ibv_device_attr.vendor_part_id(basic);
  }

  /**
   * Returns the hardware version.
   *
   * @return the number of the vendor
   */
  public int hardwareVersion() {
    return ibv_device_attr.hw_ver(basic);
  }

  /**
   * Returns the maximum number of queue pairs.
   *
   * @return the maximum
   */
  public int maxQueuePairs() {
    return ibv_device_attr.max_qp(basic);
  }

  /**
   * Returns the maximum number of outstanding work requests of a send or receive queue.
   *
   * @return the maximum
   */
  public int maxQueuePairRequests() {
    return ibv_device_attr.max_qp_wr(basic);
  }

  /**
   * Returns the maximum number of scatter/gather elements (SGEs) of a work request, except for RDMA
   * reads.
   *
   * @return the maximum
   */
  public int maxSges() {
    return ibv_device_attr.max_sge(basic);
  }

  /**
   * Returns the maximum number of SGEs of an RDMA read.
   *
   * @return the maximum
   */
  public int maxReadSges() {
    return ibv_device_attr.max_sge_rd(basic);
  }

  /**
   * Returns the maximum number of completion queues.
   *
   * @return the maximum
   */
  public int maxCompletionQueues() {
    return ibv_device_attr.max_cq(basic);
  }

  /**
   * Returns the maximum number of completions of a completion queue.
   *
   * @return the maximum
   */
  public int maxCompletionQueueEntries() {
    return ibv_device_attr.max_cqe(basic);
  }

  /**
   * Returns the maximum number of memory regions.
   *
   * @return the maximum
   */
  public int maxMemoryRegions() {
    return ibv_device_attr.max_mr(basic);
  }

  /**
   * Returns the maximum number of protection domains.
   *
   * @return the maximum
   */
  public int maxProtectionDomains() {
    return ibv_device_attr.max_pd(basic);
  }

  /**
   * Returns the maximum number of outstanding RDMA reads and atomic operations per queue pair as
   * target: the maximum of {@code max_dest_rd_atomic}.
   *
   * @return the maximum
   */
  public int maxReadsAsTarget() {
    return ibv_device_attr.max_qp_rd_atom(basic);
  }

  /**
   * Returns the maximum number of outstanding RDMA reads and atomic operations of the device as
   * target, over all queue pairs.
   *
   * @return the maximum
   */
  public int maxReadsAsTargetOfDevice() {
    return ibv_device_attr.max_res_rd_atom(basic);
  }

  /**
   * Returns the maximum number of outstanding RDMA reads and atomic operations per queue pair as
   * initiator: the maximum of {@code max_rd_atomic}.
   *
   * @return the maximum
   */
  public int maxReadsAsInitiator() {
    return ibv_device_attr.max_qp_init_rd_atom(basic);
  }

  /**
   * Returns the maximum number of outstanding RDMA reads and atomic operations per end-to-end
   * context as target. No provider implements end-to-end contexts.
   *
   * @return the maximum
   */
  public int maxEndToEndReadsAsTarget() {
    return ibv_device_attr.max_ee_rd_atom(basic);
  }

  /**
   * Returns the maximum number of outstanding RDMA reads and atomic operations per end-to-end
   * context as initiator. No provider implements end-to-end contexts.
   *
   * @return the maximum
   */
  public int maxEndToEndReadsAsInitiator() {
    return ibv_device_attr.max_ee_init_rd_atom(basic);
  }

  /**
   * Returns the maximum number of end-to-end contexts. No provider implements them.
   *
   * @return the maximum
   */
  public int maxEndToEndContexts() {
    return ibv_device_attr.max_ee(basic);
  }

  /**
   * Returns the maximum number of reliable datagram domains. No provider implements them.
   *
   * @return the maximum
   */
  public int maxReliableDatagramDomains() {
    return ibv_device_attr.max_rdd(basic);
  }

  /**
   * Returns the maximum number of memory windows.
   *
   * @return the maximum
   */
  public int maxMemoryWindows() {
    return ibv_device_attr.max_mw(basic);
  }

  /**
   * Returns the maximum number of raw IPv6 queue pairs.
   *
   * @return the maximum
   */
  public int maxRawIpv6QueuePairs() {
    return ibv_device_attr.max_raw_ipv6_qp(basic);
  }

  /**
   * Returns the maximum number of raw Ethertype queue pairs.
   *
   * @return the maximum
   */
  public int maxRawEthertypeQueuePairs() {
    return ibv_device_attr.max_raw_ethy_qp(basic);
  }

  /**
   * Returns the maximum number of multicast groups.
   *
   * @return the maximum
   */
  public int maxMulticastGroups() {
    return ibv_device_attr.max_mcast_grp(basic);
  }

  /**
   * Returns the maximum number of queue pairs attached to one multicast group.
   *
   * @return the maximum
   */
  public int maxQueuePairsOfMulticastGroup() {
    return ibv_device_attr.max_mcast_qp_attach(basic);
  }

  /**
   * Returns the maximum number of queue pairs attached to multicast groups, over all groups.
   *
   * @return the maximum
   */
  public int maxMulticastAttachments() {
    return ibv_device_attr.max_total_mcast_qp_attach(basic);
  }

  /**
   * Returns the maximum number of address handles.
   *
   * @return the maximum
   */
  public int maxAddressHandles() {
    return ibv_device_attr.max_ah(basic);
  }

  /**
   * Returns the maximum number of fast memory regions.
   *
   * @return the maximum
   */
  public int maxFastMemoryRegions() {
    return ibv_device_attr.max_fmr(basic);
  }

  /**
   * Returns the maximum number of mappings of a fast memory region before it must be unmapped.
   *
   * @return the maximum
   */
  public int maxMapsOfFastMemoryRegion() {
    return ibv_device_attr.max_map_per_fmr(basic);
  }

  /**
   * Returns the maximum number of shared receive queues.
   *
   * @return the maximum
   */
  public int maxSharedReceiveQueues() {
    return ibv_device_attr.max_srq(basic);
  }

  /**
   * Returns the maximum number of receive requests of a shared receive queue.
   *
   * @return the maximum
   */
  public int maxSharedReceiveQueueRequests() {
    return ibv_device_attr.max_srq_wr(basic);
  }

  /**
   * Returns the maximum number of SGEs of a receive request of a shared receive queue.
   *
   * @return the maximum
   */
  public int maxSharedReceiveQueueSges() {
    return ibv_device_attr.max_srq_sge(basic);
  }

  /**
   * Returns the maximum number of partitions.
   *
   * @return the length of the P_Key table
   */
  public int maxPkeys() {
    return Short.toUnsignedInt(ibv_device_attr.max_pkeys(basic));
  }

  /**
   * Returns the local CA ACK delay: the maximum time in which the device acknowledges a packet.
   *
   * @return n, for 4.096 microseconds times 2 to the power of n
   */
  public int localAckDelay() {
    return Byte.toUnsignedInt(ibv_device_attr.local_ca_ack_delay(basic));
  }

  /**
   * Returns the number of ports.
   *
   * @return the number; ports are numbered from 1
   */
  public int portCount() {
    int extended = ibv_device_attr_ex.phys_port_cnt_ex(struct);
    return extended == 0 ? Byte.toUnsignedInt(ibv_device_attr.phys_port_cnt(basic)) : extended;
  }

  /**
   * Returns the on-demand paging (ODP) capabilities.
   *
   * @return the capabilities
   */
  public OdpCapabilities onDemandPaging() {
    return new OdpCapabilities(struct);
  }

  /**
   * Returns the mask of the valid bits of a completion timestamp.
   *
   * @return the mask; 0 if timestamps are not supported
   */
  public long completionTimestampMask() {
    return ibv_device_attr_ex.completion_timestamp_mask(struct);
  }

  /**
   * Returns the frequency of the device clock, which completion timestamps are taken from.
   *
   * @return the frequency in kHz; 0 if there is no clock
   */
  public long coreClockKilohertz() {
    return ibv_device_attr_ex.hca_core_clock(struct);
  }

  /**
   * Returns the TCP segmentation offload (TSO) capabilities.
   *
   * @return the capabilities
   */
  public TsoCapabilities tcpSegmentation() {
    return new TsoCapabilities(ibv_device_attr_ex.tso_caps(struct));
  }

  /**
   * Returns the receive side scaling (RSS) capabilities.
   *
   * @return the capabilities
   */
  public RssCapabilities receiveSideScaling() {
    return new RssCapabilities(ibv_device_attr_ex.rss_caps(struct));
  }

  /**
   * Returns the maximum number of receive work queues.
   *
   * @return the maximum
   */
  public int maxReceiveWorkQueues() {
    return ibv_device_attr_ex.max_wq_type_rq(struct);
  }

  /**
   * Returns the packet pacing capabilities.
   *
   * @return the capabilities
   */
  public PacketPacingCapabilities packetPacing() {
    return new PacketPacingCapabilities(ibv_device_attr_ex.packet_pacing_caps(struct));
  }

  /**
   * Returns the raw packet capabilities.
   *
   * @return the flags
   */
  public FlagSet<RawPacketCapability> rawPacketCapabilities() {
    return FlagSet.of(
        RawPacketCapability.class,
        Integer.toUnsignedLong(ibv_device_attr_ex.raw_packet_caps(struct)));
  }

  /**
   * Returns the tag matching (TM) capabilities.
   *
   * @return the capabilities
   */
  public TagMatchingCapabilities tagMatching() {
    return new TagMatchingCapabilities(ibv_device_attr_ex.tm_caps(struct));
  }

  /**
   * Returns the completion moderation capabilities.
   *
   * @return the capabilities
   */
  public ModerationCapabilities completionModeration() {
    return new ModerationCapabilities(ibv_device_attr_ex.cq_mod_caps(struct));
  }

  /**
   * Returns the maximum size of device memory.
   *
   * @return the size in bytes; 0 if there is none
   */
  public long maxDeviceMemory() {
    return ibv_device_attr_ex.max_dm_size(struct);
  }

  /**
   * Returns the PCI atomic operation capabilities.
   *
   * @return the capabilities
   */
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
