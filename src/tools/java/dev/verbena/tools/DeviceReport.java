package dev.verbena.tools;

import dev.verbena.FlagSet;
import dev.verbena.address.Gid;
import dev.verbena.address.GidEntry;
import dev.verbena.attributes.DeviceAttributes;
import dev.verbena.attributes.OdpCapabilities;
import dev.verbena.attributes.PortAttributes;
import dev.verbena.attributes.RssCapabilities;
import dev.verbena.verbs.Context;
import dev.verbena.verbs.Device;
import dev.verbena.verbs.Port;
import java.net.NetworkInterface;
import java.net.SocketException;
import java.util.ArrayList;
import java.util.Collection;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.StringJoiner;

/** The attributes of a device as a tree, with the names of ibv_devinfo. */
final class DeviceReport {
  private final Map<String, Object> tree = new LinkedHashMap<>();

  private DeviceReport() {}

  static Map<String, Object> of(Context context) {
    DeviceReport report = new DeviceReport();
    report.identity(context.device());
    DeviceAttributes attributes = context.deviceAttributes();
    report.versions(attributes);
    report.limits(attributes);
    report.capabilities(attributes);
    report.tree.put("num_comp_vectors", context.completionVectors());
    report.tree.put("direct_data_path", context.directObstacle().orElse("possible"));
    report.tree.put("ports", context.ports().stream().map(DeviceReport::port).toList());
    return report.tree;
  }

  private void identity(Device device) {
    tree.put("hca_id", device.name());
    tree.put("device_file", "/dev/infiniband/" + device.deviceName());
    tree.put("node_type", word(device.nodeType()));
    tree.put("transport", word(device.transportType()));
    tree.put("node_guid", guid(device.guid()));
  }

  private void versions(DeviceAttributes attributes) {
    tree.put("fw_ver", attributes.firmwareVersion());
    tree.put("sys_image_guid", guid(attributes.systemImageGuid()));
    tree.put("vendor_id", hex(attributes.vendorId()));
    tree.put("vendor_part_id", attributes.vendorPartId());
    tree.put("hw_ver", hex(attributes.hardwareVersion()));
    tree.put("phys_port_cnt", attributes.portCount());
  }

  private void limits(DeviceAttributes attributes) {
    tree.put("max_mr_size", hex(attributes.maxMemoryRegionSize()));
    tree.put("page_size_cap", hex(attributes.pageSizes()));
    tree.put("max_qp", attributes.maxQueuePairs());
    tree.put("max_qp_wr", attributes.maxQueuePairRequests());
    tree.put("max_sge", attributes.maxSges());
    tree.put("max_sge_rd", attributes.maxReadSges());
    tree.put("max_cq", attributes.maxCompletionQueues());
    tree.put("max_cqe", attributes.maxCompletionQueueEntries());
    tree.put("max_mr", attributes.maxMemoryRegions());
    tree.put("max_pd", attributes.maxProtectionDomains());
    tree.put("max_qp_rd_atom", attributes.maxReadsAsTarget());
    tree.put("max_res_rd_atom", attributes.maxReadsAsTargetOfDevice());
    tree.put("max_qp_init_rd_atom", attributes.maxReadsAsInitiator());
    tree.put("max_ee_rd_atom", attributes.maxEndToEndReadsAsTarget());
    tree.put("max_ee_init_rd_atom", attributes.maxEndToEndReadsAsInitiator());
    tree.put("max_ee", attributes.maxEndToEndContexts());
    tree.put("max_rdd", attributes.maxReliableDatagramDomains());
    tree.put("max_mw", attributes.maxMemoryWindows());
    tree.put("max_raw_ipv6_qp", attributes.maxRawIpv6QueuePairs());
    tree.put("max_raw_ethy_qp", attributes.maxRawEthertypeQueuePairs());
    tree.put("max_mcast_grp", attributes.maxMulticastGroups());
    tree.put("max_mcast_qp_attach", attributes.maxQueuePairsOfMulticastGroup());
    tree.put("max_total_mcast_qp_attach", attributes.maxMulticastAttachments());
    tree.put("max_ah", attributes.maxAddressHandles());
    tree.put("max_fmr", attributes.maxFastMemoryRegions());
    tree.put("max_map_per_fmr", attributes.maxMapsOfFastMemoryRegion());
    tree.put("max_srq", attributes.maxSharedReceiveQueues());
    tree.put("max_srq_wr", attributes.maxSharedReceiveQueueRequests());
    tree.put("max_srq_sge", attributes.maxSharedReceiveQueueSges());
    tree.put("max_pkeys", attributes.maxPkeys());
    tree.put("local_ca_ack_delay", attributes.localAckDelay());
    tree.put("max_wq_type_rq", attributes.maxReceiveWorkQueues());
    tree.put("max_dm_size", attributes.maxDeviceMemory());
  }

  private void capabilities(DeviceAttributes attributes) {
    tree.put("device_cap_flags", words(attributes.capabilities()));
    tree.put("raw_packet_caps", words(attributes.rawPacketCapabilities()));
    tree.put("atomic_cap", word(attributes.atomicScope()));
    tree.put("completion_timestamp_mask", hex(attributes.completionTimestampMask()));
    tree.put("hca_core_clock", attributes.coreClockKilohertz() + " kHz");
    tree.put("odp_caps", odp(attributes.onDemandPaging()));
    tree.put("rss_caps", rss(attributes.receiveSideScaling()));
    tree.put(
        "tso_caps",
        section(
            "max_tso", attributes.tcpSegmentation().maxSize(),
            "supported_qp", words(attributes.tcpSegmentation().types())));
    tree.put(
        "packet_pacing_caps",
        section(
            "qp_rate_limit_min", attributes.packetPacing().minRate(),
            "qp_rate_limit_max", attributes.packetPacing().maxRate(),
            "supported_qp", words(attributes.packetPacing().types())));
    tree.put(
        "tag_matching_caps",
        section(
            "rc", attributes.tagMatching().rc(),
            "max_num_tags", attributes.tagMatching().maxTags(),
            "max_ops", attributes.tagMatching().maxOperations(),
            "max_sge", attributes.tagMatching().maxSges(),
            "max_rndv_hdr_size", attributes.tagMatching().maxRendezvousHeader()));
    tree.put(
        "cq_moderation_caps",
        section(
            "max_cq_count",
            attributes.completionModeration().maxCount(),
            "max_cq_period",
            attributes.completionModeration().maxPeriodMicros() + " us"));
    tree.put(
        "pci_atomic_caps",
        section(
            "fetch_add", words(attributes.pciAtomics().fetchAndAdd()),
            "swap", words(attributes.pciAtomics().swap()),
            "compare_swap", words(attributes.pciAtomics().compareAndSwap())));
  }

  private static Map<String, Object> odp(OdpCapabilities odp) {
    return section(
        "supported", odp.supported(),
        "implicit", odp.implicit(),
        "rc", words(odp.rc()),
        "uc", words(odp.uc()),
        "ud", words(odp.ud()),
        "xrc", words(odp.xrc()));
  }

  private static Map<String, Object> rss(RssCapabilities rss) {
    return section(
        "max_rwq_indirection_tables", rss.maxTables(),
        "max_rwq_indirection_table_size", rss.maxTableSize(),
        "rx_hash_function", words(rss.functions()),
        "rx_hash_fields_mask", words(rss.fields()),
        "supported_qp", words(rss.types()));
  }

  private static Map<String, Object> port(Port port) {
    PortAttributes attributes = port.attributes();
    Map<String, Object> tree = new LinkedHashMap<>();
    tree.put("port", port.number());
    tree.put("state", attributes.state().text());
    tree.put("phys_state", attributes.physicalState().text());
    tree.put("link_layer", attributes.linkLayer().text());
    tree.put("max_mtu", attributes.maxMtu().bytes());
    tree.put("active_mtu", attributes.activeMtu().bytes());
    tree.put("active_width", attributes.activeWidth().text());
    tree.put("active_speed", attributes.activeSpeed().text());
    port.megabitsPerSecond().ifPresent(speed -> tree.put("port_speed", speed + " Mbit/s"));
    tree.put("sm_lid", attributes.subnetManagerLid());
    tree.put("port_lid", attributes.lid());
    tree.put("port_lmc", attributes.lidMaskCount());
    tree.put("max_msg_sz", attributes.maxMessageSize());
    tree.put("port_cap_flags", words(attributes.capabilities()));
    tree.put("max_vl_num", attributes.virtualLanes());
    tree.put("bad_pkey_cntr", attributes.badPkeyCounter());
    tree.put("qkey_viol_cntr", attributes.queueKeyViolationCounter());
    tree.put("sm_sl", attributes.subnetManagerServiceLevel());
    tree.put("subnet_timeout", attributes.subnetTimeout());
    tree.put("init_type_reply", attributes.initTypeReply());
    tree.put("grh_required", attributes.isGlobalRouteRequired());
    tree.put("gid_tbl_len", attributes.gidTableLength());
    tree.put("pkey_tbl_len", attributes.pkeyTableLength());
    tree.put("pkeys", pkeys(port, attributes.pkeyTableLength()));
    tree.put("gids", port.gidTable().stream().map(DeviceReport::gid).toList());
    return tree;
  }

  /** Returns the P_Keys that are not zero. */
  private static List<String> pkeys(Port port, int length) {
    List<String> keys = new ArrayList<>();
    for (int index = 0; index < length; index++) {
      int key = port.pkey(index);
      if (key != 0) {
        keys.add(hex(key));
      }
    }
    return keys;
  }

  private static Map<String, Object> gid(GidEntry entry) {
    Gid gid = entry.gid();
    String ip = gid.isIpv4Mapped() ? gid.toInetAddress().getHostAddress() : "";
    return section(
        "index", entry.index(),
        "gid", colons(gid),
        "type", entry.type().text(),
        "interface", interfaceOf(entry),
        "ip", ip);
  }

  private static String interfaceOf(GidEntry entry) {
    try {
      return entry.networkInterface().map(NetworkInterface::getName).orElse("");
    } catch (SocketException e) {
      return "(" + e.getMessage() + ")";
    }
  }

  /** Formats a GID with all eight groups, as show_gids and sysfs do. */
  private static String colons(Gid gid) {
    byte[] bytes = gid.toBytes();
    StringJoiner text = new StringJoiner(":");
    for (int i = 0; i < bytes.length; i += 2) {
      text.add(String.format("%02x%02x", bytes[i], bytes[i + 1]));
    }
    return text.toString();
  }

  private static String guid(long guid) {
    return String.format("%016x", guid).replaceAll("(.{4})(?=.)", "$1:");
  }

  private static String hex(long number) {
    return "0x" + Long.toHexString(number);
  }

  private static String word(Enum<?> constant) {
    return constant.name().toLowerCase(Locale.ROOT);
  }

  private static List<String> words(Collection<? extends Enum<?>> constants) {
    List<String> words =
        new ArrayList<>(constants.stream().sorted().map(DeviceReport::word).toList());
    if (constants instanceof FlagSet<?> flags && flags.unknown() != 0) {
      words.add(hex(flags.unknown()));
    }
    return words;
  }

  private static Map<String, Object> section(Object... namesAndValues) {
    Map<String, Object> section = new LinkedHashMap<>();
    for (int i = 0; i < namesAndValues.length; i += 2) {
      section.put((String) namesAndValues[i], namesAndValues[i + 1]);
    }
    return section;
  }
}
