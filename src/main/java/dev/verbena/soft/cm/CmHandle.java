package dev.verbena.soft.cm;

import dev.verbena.raw.ibv_qp_init_attr;
import dev.verbena.raw.rdma_cm_id;
import dev.verbena.soft.device.CStruct;
import dev.verbena.soft.device.SoftPort;
import dev.verbena.soft.device.Waiting;
import java.util.ArrayList;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * The part of librdmacm of an RDMA CM identifier: the {@code struct rdma_cm_id} that the program
 * refers to, its device, and what the functions of librdmacm store. {@link CmId} is the kernel's
 * part.
 */
public final class CmHandle {
  final CmManager manager;
  public final CmId id;
  public final CStruct struct = CStruct.allocate(rdma_cm_id.layout());

  /** Whether it is in synchronous mode: functions wait for events on its own channel. */
  public boolean isSynchronous;

  /** The device that it is bound to, or null. */
  public @Nullable CmDevice device;

  public int initiatorDepth;
  public int responderResources;

  // Options of enhanced connection establishment (ECE)
  public int localVendor;
  public int localOptions;
  public int remoteVendor;
  public int remoteOptions;

  /** Whether the queue pair could not be connected. */
  public boolean isBroken;

  /** The bytes that precede the private data of the next request. */
  public byte[] connectData = new byte[0];

  /** The {@code struct ibv_qp_init_attr} for the queue pairs of requests, or null. */
  public @Nullable CStruct queuePairAttributes;

  /** Keeps {@code route.path_rec}. */
  @Nullable CStruct pathRecord;

  /** What a name was resolved to: the address of a list, or 0; and whether it was asked for. */
  public long addressInfo;

  public boolean isResolvingName;

  public final List<CmMembership> memberships = new ArrayList<>();

  /** How many events were acknowledged. */
  private int acknowledged;

  public CmHandle(CmManager manager, CmId id, long context, boolean isSynchronous) {
    this.manager = manager;
    this.id = id;
    this.isSynchronous = isSynchronous;
    struct
        .putLong("channel", id.channel.address())
        .putLong("context", context)
        .putInt("ps", id.portSpace)
        .putInt("qp_type", id.queuePairType);
    id.handle = this;
  }

  public long address() {
    return struct.address();
  }

  /** Copies what the kernel knows to the struct. */
  public void update() {
    manager.locked(
        () -> {
          if (id.source != null) {
            CmAddress.write(id.source, struct.addressOf("route.addr.src_addr"));
          }
          if (id.destination != null) {
            CmAddress.write(id.destination, struct.addressOf("route.addr.dst_addr"));
          }
          if (id.path != null) {
            id.path.source().write(struct.addressOf("route.addr.addr.ibaddr.sgid"));
            id.path.destination().write(struct.addressOf("route.addr.addr.ibaddr.dgid"));
          }
        });
    SoftPort port = manager.locked(() -> id.port);
    if (device == null && port != null) {
      CmDevice bound = manager.device(port.device);
      struct
          .putLong("pd", bound.use())
          .putLong("verbs", bound.context)
          .putByte("port_num", port.number)
          .putShort("route.addr.addr.ibaddr.pkey", -1);
      device = bound; // From now on it is released with the identifier.
    }
  }

  /** Copies the path to the struct. */
  public void updatePath() {
    pathRecord = manager.locked(() -> CmPath.record(id.path));
    struct.putLong("route.path_rec", pathRecord.address()).putInt("route.num_paths", 1);
  }

  public long queuePair() {
    return struct.getLong("qp");
  }

  /** Stores the attributes for the queue pairs of requests. */
  public void queuePairAttributes(long attributes, int type) {
    queuePairAttributes = CStruct.allocate(ibv_qp_init_attr.layout());
    queuePairAttributes
        .segment()
        .copyFrom(CStruct.at(attributes, ibv_qp_init_attr.layout()).segment());
    queuePairAttributes.putInt("qp_type", type);
  }

  // Events

  /** An event was acknowledged. */
  public synchronized void acknowledge(@Nullable CmMembership group) {
    acknowledged++;
    if (group != null) {
      group.acknowledged++;
    }
    notifyAll();
  }

  /** Waits until so many events were acknowledged. */
  public void awaitAcknowledged(int events) {
    Waiting.until(this, () -> acknowledged >= events);
  }

  /** Waits until so many events of a group were acknowledged. */
  public void awaitAcknowledged(CmMembership group, int events) {
    Waiting.until(this, () -> group.acknowledged >= events);
  }

  @Override
  public String toString() {
    return "identifier 0x" + Long.toHexString(address());
  }
}
