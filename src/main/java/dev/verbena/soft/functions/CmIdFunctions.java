package dev.verbena.soft.functions;

import dev.verbena.Errno;
import dev.verbena.VerbsException;
import dev.verbena.internal.foreign.Memory;
import dev.verbena.raw.ibv_path_data;
import dev.verbena.raw.rdma_addrinfo;
import dev.verbena.raw.rdma_h;
import dev.verbena.soft.cm.CmAddress;
import dev.verbena.soft.cm.CmChannel;
import dev.verbena.soft.cm.CmHandle;
import dev.verbena.soft.cm.CmId;
import dev.verbena.soft.cm.CmManager;
import dev.verbena.soft.device.CStruct;
import dev.verbena.soft.device.CallFailure;
import java.net.InetSocketAddress;

/** Identifiers of RDMA CM: their life, their options, their addresses and routes. */
final class CmIdFunctions {
  /** The timeout of {@code rdma_create_ep}. */
  private static final int ENDPOINT_MILLISECONDS = 2000;

  private static final int MAX_ACK_TIMEOUT = 31;

  private final CmManager manager;
  private final PointerLists deviceLists = new PointerLists();
  private final CmChannelFunctions channels;
  private final CmQueueFunctions queues;

  CmIdFunctions(CmManager manager, CmChannelFunctions channels, CmQueueFunctions queues) {
    this.manager = manager;
    this.channels = channels;
    this.queues = queues;
  }

  // Devices

  public long rdma_get_devices(long numDevices) {
    return deviceLists.get(
        manager.devices().stream().map(device -> device.context).toList(), numDevices);
  }

  public void rdma_free_devices(long list) {
    deviceLists.free(list).forEach(manager::forget);
  }

  // Life

  public void rdma_create_id(long channel, long result, long context, int portSpace) {
    boolean datagrams = portSpace == rdma_h.RDMA_PS_IPOIB() || portSpace == rdma_h.RDMA_PS_UDP();
    int type = datagrams ? rdma_h.IBV_QPT_UD() : rdma_h.IBV_QPT_RC();
    Memory.putLong(result, create(channel, context, portSpace, type).address());
  }

  private CmHandle create(long channel, long context, int portSpace, int type) {
    CallFailure.invalidIf(
        portSpace != rdma_h.RDMA_PS_TCP()
            && portSpace != rdma_h.RDMA_PS_UDP()
            && portSpace != rdma_h.RDMA_PS_IPOIB()
            && portSpace != rdma_h.RDMA_PS_IB(),
        "port space " + portSpace);
    CmChannel on = channel == 0 ? manager.openChannel() : manager.channel(channel);
    CmId id = new CmId(manager, on, portSpace, type);
    CmHandle handle = new CmHandle(manager, id, context, channel == 0);
    manager.add(handle);
    return handle;
  }

  public void rdma_destroy_id(long id) {
    CmHandle handle = manager.handle(id);
    int events =
        manager.locked(
            () -> {
              handle.id.destroy();
              return handle.id.eventsTaken;
            });
    channels.acknowledgeLast(handle);
    handle.awaitAcknowledged(events);
    manager.remove(handle);
    if (handle.isSynchronous) {
      manager.close(handle.id.channel);
    }
    if (handle.device != null) {
      manager.release(handle.device);
    }
    if (handle.addressInfo != 0) {
      CmNameFunctions.free(handle.addressInfo);
    }
  }

  public void rdma_migrate_id(long id, long channel) {
    CmHandle handle = manager.handle(id);
    CallFailure.invalidIf(
        handle.isSynchronous && channel == 0, "the identifier is in synchronous mode");
    CmChannel old = handle.id.channel;
    CmChannel target = channel == 0 ? manager.openChannel() : manager.channel(channel);
    int events =
        manager.locked(
            () -> {
              handle.id.moveTo(target);
              return handle.id.eventsTaken;
            });
    if (handle.isSynchronous) {
      channels.acknowledgeLast(handle);
      manager.close(old);
    }
    handle.isSynchronous = channel == 0;
    handle.struct.putLong("channel", target.address());
    handle.awaitAcknowledged(events);
  }

  // Options

  public void rdma_set_option(long id, int level, int name, long value, long length) {
    CmHandle handle = manager.handle(id);
    if (level == rdma_h.RDMA_OPTION_ID()) {
      manager.locked(() -> setOption(handle.id, name, value, length));
    } else if (level == rdma_h.RDMA_OPTION_IB() && name == rdma_h.RDMA_OPTION_IB_PATH()) {
      requirePath(value, length);
      manager.locked(handle.id::resolveRoute);
    } else {
      throw CallFailure.of(Errno.ENOSYS, "level " + level);
    }
  }

  private static void setOption(CmId id, int name, long value, long length) {
    if (name == rdma_h.RDMA_OPTION_ID_TOS()) {
      requireLength(length, Byte.BYTES);
      id.typeOfService(Byte.toUnsignedInt(Memory.getByte(value)));
    } else if (name == rdma_h.RDMA_OPTION_ID_REUSEADDR()) {
      requireLength(length, Integer.BYTES);
      id.shareAddress(Memory.getInt(value) != 0);
    } else if (name == rdma_h.RDMA_OPTION_ID_AFONLY()) {
      requireLength(length, Integer.BYTES);
      id.addressFamilyOnly(Memory.getInt(value) != 0);
    } else if (name == rdma_h.RDMA_OPTION_ID_ACK_TIMEOUT()) {
      requireLength(length, Byte.BYTES);
      int timeout = Byte.toUnsignedInt(Memory.getByte(value));
      CallFailure.invalidIf(timeout > MAX_ACK_TIMEOUT, "timeout " + timeout);
      id.ackTimeout(timeout);
    } else {
      throw CallFailure.of(Errno.ENOSYS, "option " + name);
    }
  }

  private static void requireLength(long length, int expected) {
    CallFailure.invalidIf(
        length != expected, "the value has " + expected + " bytes, not " + length);
  }

  /** One of the paths must be complete. The devices have but one path, which is taken. */
  private static void requirePath(long value, long length) {
    int complete =
        rdma_h.IBV_PATH_FLAG_GMP()
            | rdma_h.IBV_PATH_FLAG_PRIMARY()
            | rdma_h.IBV_PATH_FLAG_BIDIRECTIONAL();
    long size = ibv_path_data.sizeof();
    boolean found = false;
    for (long at = 0; length % size == 0 && at < length; at += size) {
      found |= Memory.getInt(value + at + ibv_path_data.flags$offset()) == complete;
    }
    CallFailure.invalidIf(!found, "no path for both directions among " + length + " bytes");
  }

  // Addresses

  public short rdma_get_src_port(long id) {
    CmHandle handle = manager.handle(id);
    return manager.locked(() -> port(handle.id.source));
  }

  public short rdma_get_dst_port(long id) {
    CmHandle handle = manager.handle(id);
    return manager.locked(() -> port(handle.id.destination));
  }

  /** Big-endian, as in C. */
  private static short port(InetSocketAddress address) {
    return address == null ? 0 : Short.reverseBytes((short) address.getPort());
  }

  public void rdma_bind_addr(long id, long address) {
    bind(manager.handle(id), address);
  }

  private void bind(CmHandle handle, long address) {
    InetSocketAddress local = CmAddress.read(address);
    manager.locked(() -> handle.id.bind(local));
    handle.update();
  }

  public void rdma_resolve_addr(long id, long source, long destination, int timeoutMs) {
    resolve(manager.handle(id), source, destination, timeoutMs);
  }

  private void resolve(CmHandle handle, long source, long destination, int timeoutMs) {
    InetSocketAddress to = CmAddress.read(destination);
    InetSocketAddress from = source == 0 ? null : CmAddress.read(source);
    manager.locked(() -> handle.id.resolveAddress(from, to, timeoutMs));
    CmAddress.write(to, handle.struct.addressOf("route.addr.dst_addr"));
    channels.complete(handle);
  }

  public void rdma_resolve_route(long id, int timeoutMs) {
    CmHandle handle = manager.handle(id);
    manager.locked(handle.id::resolveRoute);
    channels.complete(handle);
  }

  // Endpoints

  public void rdma_create_ep(long result, long addrinfo, long domain, long attributes) {
    CStruct info = CStruct.at(addrinfo, rdma_addrinfo.layout());
    int type = info.getInt("ai_qp_type");
    CmHandle handle = create(0, 0, info.getInt("ai_port_space"), type);
    try {
      if ((info.getInt("ai_flags") & rdma_h.RAI_PASSIVE()) != 0) {
        bind(handle, info.getLong("ai_src_addr"));
        if (domain != 0) {
          handle.struct.putLong("pd", domain);
        }
        if (attributes != 0) {
          handle.queuePairAttributes(attributes, type);
        }
      } else {
        resolveEndpoint(handle, info);
        if (attributes != 0) {
          queues.createQueuePair(handle, domain, attributes, type);
        }
        handle.connectData =
            CmConnectionFunctions.bytes(info.getLong("ai_connect"), info.getInt("ai_connect_len"));
      }
    } catch (VerbsException e) {
      rdma_destroy_ep(handle.address());
      throw e;
    }
    Memory.putLong(result, handle.address());
  }

  private void resolveEndpoint(CmHandle handle, CStruct info) {
    resolve(
        handle, info.getLong("ai_src_addr"), info.getLong("ai_dst_addr"), ENDPOINT_MILLISECONDS);
    int route = info.getInt("ai_route_len");
    if (route == 0) {
      rdma_resolve_route(handle.address(), ENDPOINT_MILLISECONDS);
    } else {
      rdma_set_option(
          handle.address(),
          rdma_h.RDMA_OPTION_IB(),
          rdma_h.RDMA_OPTION_IB_PATH(),
          info.getLong("ai_route"),
          route);
      channels.complete(handle);
    }
  }

  public void rdma_destroy_ep(long id) {
    CmHandle handle = manager.handle(id);
    if (handle.queuePair() != 0) {
      queues.rdma_destroy_qp(id);
    }
    if (handle.struct.getLong("srq") != 0) {
      queues.rdma_destroy_srq(id);
    }
    rdma_destroy_id(id);
  }
}
