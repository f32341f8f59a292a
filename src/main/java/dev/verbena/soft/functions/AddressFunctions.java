package dev.verbena.soft.functions;

import dev.verbena.Errno;
import dev.verbena.internal.foreign.Memory;
import dev.verbena.raw.ibv_ah_attr;
import dev.verbena.raw.ibv_wc;
import dev.verbena.raw.rdma_h;
import dev.verbena.soft.device.CStruct;
import dev.verbena.soft.device.CallFailure;
import dev.verbena.soft.device.Registry;
import dev.verbena.soft.device.SoftAddressHandle;
import dev.verbena.soft.device.SoftAddressVector;
import dev.verbena.soft.device.SoftContext;
import dev.verbena.soft.device.SoftDevice;
import dev.verbena.soft.device.SoftDomain;
import dev.verbena.soft.device.SoftPort;
import dev.verbena.soft.wire.Gids;

/** Address handles. */
final class AddressFunctions {
  private static final int IPV4_SOURCE = 32;
  private static final int IPV4_DESTINATION = 36;
  private static final int IPV6_SOURCE = 8;
  private static final int IPV6_DESTINATION = 24;

  public long ibv_create_ah(long pd, long attributes) {
    SoftDomain domain = Registry.at(pd, SoftDomain.class);
    SoftAddressVector vector = SoftAddressVector.read(domain.device, attributes);
    return Registry.create(
        domain.device,
        () -> {
          requireRoom(domain.device);
          return new SoftAddressHandle(domain, vector);
        });
  }

  /** Throws if a device whose profile limits them has as many address handles already. */
  private static void requireRoom(SoftDevice device) {
    int most = device.profile.limit("max_ah", Integer.MAX_VALUE);
    if (most < Integer.MAX_VALUE
        && Registry.of(device).stream().filter(SoftAddressHandle.class::isInstance).count()
            >= most) {
      throw CallFailure.of(Errno.ENOMEM);
    }
  }

  public void ibv_destroy_ah(long address) {
    Registry.destroy(address, SoftAddressHandle.class);
  }

  public void ibv_init_ah_from_wc(long context, byte port, long wc, long grh, long attributes) {
    SoftDevice device = Registry.at(context, SoftContext.class).device;
    SoftPort own = device.port(port);
    CallFailure.invalidIf(
        (Memory.getInt(wc + ibv_wc.wc_flags$offset()) & rdma_h.IBV_WC_GRH()) == 0,
        "the completion has no GRH");
    boolean ipv6 = (Memory.getByte(grh) & 0xf0) == 0x60;
    Gids source = ipv6 ? Gids.read(grh + IPV6_SOURCE) : ipv4(grh + IPV4_SOURCE);
    Gids destination = ipv6 ? Gids.read(grh + IPV6_DESTINATION) : ipv4(grh + IPV4_DESTINATION);
    int index = destination.isMulticast() ? own.gids.size() - 1 : own.gids.indexOf(destination);
    CallFailure.invalidIf(
        index < 0 || index >= own.gidTableLength, "the port does not have the GID");
    Memory.at(attributes, ibv_ah_attr.sizeof()).fill((byte) 0);
    CStruct attr =
        CStruct.at(attributes, ibv_ah_attr.layout())
            .putByte("is_global", 1)
            .putByte("port_num", port)
            .putByte("sl", Memory.getShort(wc + ibv_wc.sl$offset()) & 0xff)
            .putByte("grh.sgid_index", index)
            .putByte("grh.hop_limit", 64);
    source.write(attr.addressOf("grh.dgid"));
  }

  private static Gids ipv4(long address) {
    return new Gids(
        0,
        0x0000_ffff_0000_0000L
            | Integer.toUnsignedLong(Integer.reverseBytes(Memory.getInt(address))));
  }

  public long ibv_create_ah_from_wc(long pd, long wc, long grh, byte port) {
    SoftDomain domain = Registry.at(pd, SoftDomain.class);
    CStruct attributes = CStruct.allocate(ibv_ah_attr.layout());
    ibv_init_ah_from_wc(domain.context.address(), port, wc, grh, attributes.address());
    return ibv_create_ah(pd, attributes.address());
  }

  public void ibv_resolve_eth_l2_from_gid(long context, long attributes, long mac, long vlan) {
    SoftDevice device = Registry.at(context, SoftContext.class).device;
    SoftAddressVector vector = SoftAddressVector.read(device, attributes);
    SoftPort port =
        device.engine.locked(
            () -> device.fabric.port(vector.destination().high(), vector.destination().low()));
    if (port == null) {
      throw CallFailure.of(Errno.EHOSTUNREACH, "no port has the GID");
    }
    for (int i = 0; i < 6; i++) {
      Memory.putByte(mac + i, (byte) (port.mac() >>> (8 * (5 - i))));
    }
    if (vlan != 0) {
      Memory.putShort(vlan, (short) -1);
    }
  }
}
