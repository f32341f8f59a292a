package dev.verbena.soft.device;

import dev.verbena.VerbsException;
import dev.verbena.raw.ibv_ah_attr;
import dev.verbena.soft.wire.Gids;
import dev.verbena.soft.wire.Packet;

/**
 * An address vector: the destination of packets and the path to it ({@code struct ibv_ah_attr}).
 */
public record SoftAddressVector(
    SoftPort port,
    Gids source,
    Gids destination,
    int flowLabel,
    int hopLimit,
    int trafficClass,
    int serviceLevel) {

  /**
   * Reads and checks a struct.
   *
   * @throws VerbsException EINVAL if the port, the GID index or the global routing header (GRH) is
   *     missing or wrong
   */
  public static SoftAddressVector read(SoftDevice device, long address) {
    CStruct attr = CStruct.at(address, ibv_ah_attr.layout());
    SoftPort port = device.port(attr.getByte("port_num"));
    CallFailure.invalidIf(
        attr.getByte("is_global") == 0,
        "an Ethernet port needs a global routing header: is_global is 0");
    int index = attr.getByte("grh.sgid_index");
    CallFailure.invalidIf(
        index >= port.gidTableLength,
        "sgid_index " + index + ", the port has " + port.gidTableLength);
    return new SoftAddressVector(
        port,
        port.gids.get(index),
        Gids.read(attr.addressOf("grh.dgid")),
        attr.getInt("grh.flow_label"),
        attr.getByte("grh.hop_limit"),
        attr.getByte("grh.traffic_class"),
        attr.getByte("sl"));
  }

  /** Addresses a packet. */
  public void address(Packet packet) {
    packet.sourceGidHigh = source.high();
    packet.sourceGidLow = source.low();
    packet.destinationGidHigh = destination.high();
    packet.destinationGidLow = destination.low();
    packet.flowLabel = flowLabel;
    packet.hopLimit = hopLimit;
    packet.trafficClass = trafficClass;
    packet.serviceLevel = serviceLevel;
  }

  /** Whether a packet comes from the destination of this path. */
  public boolean leadsTo(Packet packet) {
    return packet.sourceGidHigh == destination.high() && packet.sourceGidLow == destination.low();
  }
}
