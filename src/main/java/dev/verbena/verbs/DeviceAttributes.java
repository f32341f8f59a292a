package dev.verbena.verbs;

import dev.verbena.raw.ibv_device_attr;
import dev.verbena.raw.ibv_device_attr_ex;
import java.lang.foreign.MemorySegment;
import java.util.Set;

/**
 * What a device said about itself when asked: {@code struct ibv_device_attr_ex}.
 *
 * <p>What only {@code ibv_query_device_ex} tells is 0, empty or false where provider or kernel are
 * too old for it.
 */
public final class DeviceAttributes {
  private final MemorySegment struct;
  private final MemorySegment basic;

  /** Takes a struct that nobody writes to any more. */
  DeviceAttributes(MemorySegment struct) {
    this.struct = struct.asReadOnly();
    this.basic = ibv_device_attr_ex.orig_attr(this.struct);
  }

  /**
   * The version of the firmware.
   *
   * @return the vendor's text; empty for software devices
   */
  public String firmwareVersion() {
    return ibv_device_attr.fw_ver(basic).getString(0);
  }

  /**
   * The GUID of the device.
   *
   * @return the node GUID as a number, in Java's byte order
   */
  public long nodeGuid() {
    return Long.reverseBytes(ibv_device_attr.node_guid(basic));
  }

  /**
   * The GUID that all parts of one machine share.
   *
   * @return the system image GUID as a number, in Java's byte order
   */
  public long systemImageGuid() {
    return Long.reverseBytes(ibv_device_attr.sys_image_guid(basic));
  }

  /**
   * What the device can do.
   *
   * @return the known ones of its capability flags, basic and extended
   */
  public Set<DeviceCapability> capabilities() {
    long flags = Integer.toUnsignedLong(ibv_device_attr.device_cap_flags(basic));
    return Flags.of(DeviceCapability.class, flags | ibv_device_attr_ex.device_cap_flags_ex(struct));
  }

  /**
   * Whether the device can do something.
   *
   * @param capability what
   * @return whether it is among the {@link #capabilities}
   */
  public boolean has(DeviceCapability capability) {
    return capabilities().contains(capability);
  }

  /**
   * Whether the device can do something with raw packets.
   *
   * @param capability what
   * @return whether it is among the {@link #rawPacketCapabilities}
   */
  public boolean has(RawPacketCapability capability) {
    return rawPacketCapabilities().contains(capability);
  }

  /**
   * Among whom atomic operations are atomic.
   *
   * @return the scope
   */
  public AtomicScope atomicScope() {
    return Codes.of(AtomicScope.class, ibv_device_attr.atomic_cap(basic), AtomicScope.NONE);
  }

  /**
   * The largest memory region.
   *
   * @return its size in bytes
   */
  public long maxMemoryRegionSize() {
    return ibv_device_attr.max_mr_size(basic);
  }

  /**
   * The page sizes that the device can use.
   *
   * @return a mask whose bit n stands for 2 to the power of n bytes
   */
  public long pageSizes() {
    return ibv_device_attr.page_size_cap(basic);
  }

  /**
   * The vendor.
   *
   * @return its IEEE number
   */
  public int vendorId() {
    return ibv_device_attr.vendor_id(basic);
  }

  /**
   * The vendor's number for this kind of device.
   *
   * @return the part number
   */
  public int vendorPartId() {
    return ibv_device_attr.vendor_part_id(basic);
  }

  /**
   * The version of the hardware.
   *
   * @return the vendor's number
   */
  public int hardwareVersion() {
    return ibv_device_attr.hw_ver(basic);
  }

  /**
   * How many queue pairs there can be.
   *
   * @return the limit
   */
  public int maxQueuePairs() {
    return ibv_device_attr.max_qp(basic);
  }

  /**
   * How many requests a queue of a queue pair can hold.
   *
   * @return the limit
   */
  public int maxQueuePairRequests() {
    return ibv_device_attr.max_qp_wr(basic);
  }

  /**
   * How many scatter/gather entries a request can have.
   *
   * @return the limit, reads excepted
   */
  public int maxScatterGatherEntries() {
    return ibv_device_attr.max_sge(basic);
  }

  /**
   * How many scatter/gather entries an RDMA read can have.
   *
   * @return the limit
   */
  public int maxReadScatterGatherEntries() {
    return ibv_device_attr.max_sge_rd(basic);
  }

  /**
   * How many completion queues there can be.
   *
   * @return the limit
   */
  public int maxCompletionQueues() {
    return ibv_device_attr.max_cq(basic);
  }

  /**
   * How many completions a queue can hold.
   *
   * @return the limit
   */
  public int maxCompletionQueueEntries() {
    return ibv_device_attr.max_cqe(basic);
  }

  /**
   * How many memory regions there can be.
   *
   * @return the limit
   */
  public int maxMemoryRegions() {
    return ibv_device_attr.max_mr(basic);
  }

  /**
   * How many protection domains there can be.
   *
   * @return the limit
   */
  public int maxProtectionDomains() {
    return ibv_device_attr.max_pd(basic);
  }

  /**
   * How many RDMA reads and atomics of its peer a queue pair can serve at a time.
   *
   * @return the limit of {@code max_dest_rd_atomic}
   */
  public int maxReadsAsTarget() {
    return ibv_device_attr.max_qp_rd_atom(basic);
  }

  /**
   * How many RDMA reads and atomics of peers the device can serve at a time.
   *
   * @return the limit over all queue pairs
   */
  public int maxReadsAsTargetOfDevice() {
    return ibv_device_attr.max_res_rd_atom(basic);
  }

  /**
   * How many RDMA reads and atomics a queue pair can have under way.
   *
   * @return the limit of {@code max_rd_atomic}
   */
  public int maxReadsAsInitiator() {
    return ibv_device_attr.max_qp_init_rd_atom(basic);
  }

  /**
   * How many RDMA reads and atomics an end-to-end context can serve at a time.
   *
   * @return the limit; nothing implements such contexts
   */
  public int maxEndToEndReadsAsTarget() {
    return ibv_device_attr.max_ee_rd_atom(basic);
  }

  /**
   * How many RDMA reads and atomics an end-to-end context can have under way.
   *
   * @return the limit; nothing implements such contexts
   */
  public int maxEndToEndReadsAsInitiator() {
    return ibv_device_attr.max_ee_init_rd_atom(basic);
  }

  /**
   * How many end-to-end contexts there can be.
   *
   * @return the limit; nothing implements them
   */
  public int maxEndToEndContexts() {
    return ibv_device_attr.max_ee(basic);
  }

  /**
   * How many reliable datagram domains there can be.
   *
   * @return the limit; nothing implements them
   */
  public int maxReliableDatagramDomains() {
    return ibv_device_attr.max_rdd(basic);
  }

  /**
   * How many memory windows there can be.
   *
   * @return the limit
   */
  public int maxMemoryWindows() {
    return ibv_device_attr.max_mw(basic);
  }

  /**
   * How many raw IPv6 queue pairs there can be.
   *
   * @return the limit
   */
  public int maxRawIpv6QueuePairs() {
    return ibv_device_attr.max_raw_ipv6_qp(basic);
  }

  /**
   * How many raw Ethertype queue pairs there can be.
   *
   * @return the limit
   */
  public int maxRawEthertypeQueuePairs() {
    return ibv_device_attr.max_raw_ethy_qp(basic);
  }

  /**
   * How many multicast groups can be attached to.
   *
   * @return the limit
   */
  public int maxMulticastGroups() {
    return ibv_device_attr.max_mcast_grp(basic);
  }

  /**
   * How many queue pairs can be attached to one multicast group.
   *
   * @return the limit
   */
  public int maxQueuePairsOfMulticastGroup() {
    return ibv_device_attr.max_mcast_qp_attach(basic);
  }

  /**
   * How many queue pairs can be attached to multicast groups.
   *
   * @return the limit over all groups
   */
  public int maxMulticastAttachments() {
    return ibv_device_attr.max_total_mcast_qp_attach(basic);
  }

  /**
   * How many address handles there can be.
   *
   * @return the limit
   */
  public int maxAddressHandles() {
    return ibv_device_attr.max_ah(basic);
  }

  /**
   * How many fast memory regions there can be.
   *
   * @return the limit
   */
  public int maxFastMemoryRegions() {
    return ibv_device_attr.max_fmr(basic);
  }

  /**
   * How often a fast memory region can be mapped before it must be unmapped.
   *
   * @return the limit
   */
  public int maxMapsOfFastMemoryRegion() {
    return ibv_device_attr.max_map_per_fmr(basic);
  }

  /**
   * How many shared receive queues there can be.
   *
   * @return the limit
   */
  public int maxSharedReceiveQueues() {
    return ibv_device_attr.max_srq(basic);
  }

  /**
   * How many requests a shared receive queue can hold.
   *
   * @return the limit
   */
  public int maxSharedReceiveQueueRequests() {
    return ibv_device_attr.max_srq_wr(basic);
  }

  /**
   * How many scatter/gather entries a request of a shared receive queue can have.
   *
   * @return the limit
   */
  public int maxSharedReceiveQueueEntries() {
    return ibv_device_attr.max_srq_sge(basic);
  }

  /**
   * How many partitions a port can be in.
   *
   * @return the limit
   */
  public int maxPkeys() {
    return Short.toUnsignedInt(ibv_device_attr.max_pkeys(basic));
  }

  /**
   * How long the device takes at most to acknowledge a packet.
   *
   * @return n, for 4.096 microseconds times 2 to the power of n
   */
  public int localAckDelay() {
    return Byte.toUnsignedInt(ibv_device_attr.local_ca_ack_delay(basic));
  }

  /**
   * How many ports there are.
   *
   * @return the count; ports are numbered from 1
   */
  public int portCount() {
    int extended = ibv_device_attr_ex.phys_port_cnt_ex(struct);
    return extended == 0 ? Byte.toUnsignedInt(ibv_device_attr.phys_port_cnt(basic)) : extended;
  }

  /**
   * What can be done with memory that is paged in on demand.
   *
   * @return the capabilities
   */
  public OdpCapabilities onDemandPaging() {
    return OdpCapabilities.readFrom(struct);
  }

  /**
   * The bits that count in a completion's time stamp.
   *
   * @return a mask; 0 if there are no time stamps
   */
  public long completionTimestampMask() {
    return ibv_device_attr_ex.completion_timestamp_mask(struct);
  }

  /**
   * How fast the clock behind completion time stamps runs.
   *
   * @return its frequency in kHz; 0 if there is none
   */
  public long coreClockKilohertz() {
    return ibv_device_attr_ex.hca_core_clock(struct);
  }

  /**
   * What the device can do to cut long TCP segments.
   *
   * @return the capabilities
   */
  public TsoCapabilities tcpSegmentation() {
    return TsoCapabilities.readFrom(ibv_device_attr_ex.tso_caps(struct));
  }

  /**
   * What the device can do to spread received packets over queues.
   *
   * @return the capabilities
   */
  public RssCapabilities receiveSideScaling() {
    return RssCapabilities.readFrom(ibv_device_attr_ex.rss_caps(struct));
  }

  /**
   * How many receive work queues there can be.
   *
   * @return the limit
   */
  public int maxReceiveWorkQueues() {
    return ibv_device_attr_ex.max_wq_type_rq(struct);
  }

  /**
   * What the device can do to hold queue pairs down to a rate.
   *
   * @return the capabilities
   */
  public PacketPacingCapabilities packetPacing() {
    return PacketPacingCapabilities.readFrom(ibv_device_attr_ex.packet_pacing_caps(struct));
  }

  /**
   * What the device can do with raw packets.
   *
   * @return the known ones of its flags
   */
  public Set<RawPacketCapability> rawPacketCapabilities() {
    return Flags.of(RawPacketCapability.class, ibv_device_attr_ex.raw_packet_caps(struct));
  }

  /**
   * What the device can do to match received messages by tags.
   *
   * @return the capabilities
   */
  public TagMatchingCapabilities tagMatching() {
    return TagMatchingCapabilities.readFrom(ibv_device_attr_ex.tm_caps(struct));
  }

  /**
   * What the device can do to raise fewer completion events.
   *
   * @return the capabilities
   */
  public ModerationCapabilities completionModeration() {
    return ModerationCapabilities.readFrom(ibv_device_attr_ex.cq_mod_caps(struct));
  }

  /**
   * How much memory of its own the device has for programs.
   *
   * @return its size in bytes; 0 if there is none
   */
  public long maxDeviceMemory() {
    return ibv_device_attr_ex.max_dm_size(struct);
  }

  /**
   * What atomic operations the device can do over PCI.
   *
   * @return the capabilities
   */
  public PciAtomicCapabilities pciAtomics() {
    return PciAtomicCapabilities.readFrom(ibv_device_attr_ex.pci_atomic_caps(struct));
  }

  @Override
  public String toString() {
    return "firmware %s, %d port(s), %d queue pairs, %s"
        .formatted(firmwareVersion(), portCount(), maxQueuePairs(), capabilities());
  }
}
