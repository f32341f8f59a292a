package dev.verbena.soft.functions;

import dev.verbena.Errno;
import dev.verbena.VerbsException;
import dev.verbena.internal.foreign.Memory;
import dev.verbena.raw.ibv_ece;
import dev.verbena.raw.ibv_qp;
import dev.verbena.raw.ibv_qp_attr;
import dev.verbena.raw.ibv_qp_init_attr;
import dev.verbena.raw.rdma_cm_event;
import dev.verbena.raw.rdma_conn_param;
import dev.verbena.raw.rdma_h;
import dev.verbena.soft.cm.CmEvent;
import dev.verbena.soft.cm.CmExchange;
import dev.verbena.soft.cm.CmHandle;
import dev.verbena.soft.cm.CmManager;
import dev.verbena.soft.cm.CmQueues;
import dev.verbena.soft.device.CStruct;
import dev.verbena.soft.device.CallFailure;
import dev.verbena.soft.device.SoftDevice;
import java.lang.foreign.ValueLayout;
import java.util.Arrays;
import org.jspecify.annotations.Nullable;

/** Connections of RDMA CM: listening, connecting, accepting, rejecting, disconnecting. */
final class CmConnectionFunctions {
  private final CmManager manager;
  private final CmChannelFunctions channels;
  private final CmQueues queues;
  private final CmQueueFunctions queueFunctions;

  CmConnectionFunctions(
      CmManager manager,
      CmChannelFunctions channels,
      CmQueues queues,
      CmQueueFunctions queueFunctions) {
    this.manager = manager;
    this.channels = channels;
    this.queues = queues;
    this.queueFunctions = queueFunctions;
  }

  public void rdma_listen(long id, int backlog) {
    CmHandle handle = manager.handle(id);
    manager.locked(
        () -> {
          manager.startAgents();
          handle.id.listen(backlog);
        });
    handle.update();
  }

  public void rdma_get_request(long listener, long id) {
    CmHandle handle = manager.handle(listener);
    CallFailure.invalidIf(!handle.isSynchronous, "the listener reports on a channel");
    channels.acknowledgeLast(handle);
    long pointer = handle.struct.addressOf("event");
    channels.rdma_get_cm_event(handle.id.channel.address(), pointer);
    long address = Memory.getLong(pointer);
    CStruct event = CStruct.at(address, rdma_cm_event.layout());
    int type = event.getInt("event");
    int status = event.getInt("status");
    if (type == rdma_h.RDMA_CM_EVENT_REJECTED()) {
      throw CallFailure.of(Errno.ECONNREFUSED);
    } else if (status != 0) {
      throw CallFailure.of(Math.abs(status));
    } else if (type != rdma_h.RDMA_CM_EVENT_CONNECT_REQUEST()) {
      throw CallFailure.invalid("another event than a request: " + type);
    }
    CmHandle request = manager.handle(event.getLong("id"));
    if (handle.queuePairAttributes != null) {
      CStruct attributes = CStruct.allocate(ibv_qp_init_attr.layout());
      attributes.segment().copyFrom(handle.queuePairAttributes.segment());
      queueFunctions.createQueuePair(
          request, handle.struct.getLong("pd"), attributes.address(), attributes.getInt("qp_type"));
    }
    handle.struct.putLong("event", 0);
    request.struct.putLong("event", address);
    Memory.putLong(id, request.address());
  }

  public void rdma_connect(long id, long parameters) {
    CmHandle handle = manager.handle(id);
    CStruct asked = parameters(handle, parameters);
    handle.initiatorDepth = depth(asked, "initiator_depth", SoftDevice.MAX_READS);
    handle.responderResources = depth(asked, "responder_resources", SoftDevice.MAX_READS);
    CmEvent.Connection connection = connection(handle, asked, handle.localVendor);
    manager.locked(
        () -> {
          manager.startAgents();
          handle.id.connect(connection);
        });
    handle.connectData = new byte[0];
    channels.complete(handle);
  }

  /** The parameters, or null where C has NULL. */
  private static @Nullable CStruct parameters(CmHandle handle, long address) {
    boolean connects = handle.id.portSpace == rdma_h.RDMA_PS_TCP();
    if (address == 0) {
      CallFailure.invalidIf(
          connects && handle.queuePair() == 0, "neither parameters nor a queue pair");
      return null;
    }
    CStruct asked = CStruct.at(address, rdma_conn_param.layout());
    if (connects) {
      requireDepth(asked, "responder_resources");
      requireDepth(asked, "initiator_depth");
    }
    return asked;
  }

  private static void requireDepth(CStruct asked, String field) {
    int depth = asked.getByte(field);
    CallFailure.invalidIf(
        depth != rdma_h.RDMA_MAX_RESP_RES() && depth > SoftDevice.MAX_READS,
        field + " is at most " + SoftDevice.MAX_READS + ", not " + depth);
  }

  private static int depth(CStruct asked, String field, int otherwise) {
    int depth = asked == null ? rdma_h.RDMA_MAX_RESP_RES() : asked.getByte(field);
    return depth == rdma_h.RDMA_MAX_RESP_RES() ? Math.min(otherwise, SoftDevice.MAX_READS) : depth;
  }

  private static CmEvent.Connection connection(CmHandle handle, CStruct asked, int vendor) {
    byte[] own =
        asked == null
            ? new byte[0]
            : bytes(asked.getLong("private_data"), asked.getByte("private_data_len"));
    byte[] data = Arrays.copyOf(handle.connectData, handle.connectData.length + own.length);
    System.arraycopy(own, 0, data, handle.connectData.length, own.length);
    long queuePair = handle.queuePair();
    CStruct struct = queuePair == 0 ? null : CStruct.at(queuePair, ibv_qp.layout());
    return new CmEvent.Connection(
        data,
        handle.responderResources,
        handle.initiatorDepth,
        asked != null && asked.getByte("flow_control") != 0,
        asked == null ? 7 : asked.getByte("retry_count"),
        asked == null ? 7 : asked.getByte("rnr_retry_count"),
        struct != null ? struct.getLong("srq") != 0 : asked != null && asked.getByte("srq") != 0,
        struct != null ? struct.getInt("qp_num") : asked == null ? 0 : asked.getInt("qp_num"),
        vendor,
        handle.localOptions);
  }

  /** Bytes that C points to. */
  static byte[] bytes(long address, int length) {
    return address == 0 || length == 0
        ? new byte[0]
        : Memory.at(address, length).toArray(ValueLayout.JAVA_BYTE);
  }

  public void rdma_accept(long id, long parameters) {
    CmHandle handle = manager.handle(id);
    CStruct asked = parameters(handle, parameters);
    handle.initiatorDepth = depth(asked, "initiator_depth", handle.initiatorDepth);
    handle.responderResources = depth(asked, "responder_resources", handle.responderResources);
    if (!handle.id.isDatagram()) {
      queues.connect(handle, handle.responderResources, handle.initiatorDepth);
    }
    CmEvent.Connection connection = connection(handle, asked, handle.remoteVendor);
    try {
      manager.locked(() -> handle.id.accept(connection));
    } catch (VerbsException e) {
      queues.fail(handle);
      throw e;
    }
    if (!handle.id.isDatagram()) {
      channels.complete(handle);
    } else if (handle.isSynchronous) {
      channels.acknowledgeLast(handle);
    }
  }

  public void rdma_reject(long id, long privateData, byte length) {
    reject(id, privateData, length, CmExchange.REASON_CONSUMER);
  }

  public void rdma_reject_ece(long id, long privateData, byte length) {
    reject(id, privateData, length, CmExchange.REASON_VENDOR_OPTION);
  }

  private void reject(long id, long privateData, byte length, int reason) {
    CmHandle handle = manager.handle(id);
    byte[] data = bytes(privateData, Byte.toUnsignedInt(length));
    manager.locked(() -> handle.id.reject(reason, data));
  }

  public void rdma_establish(long id) {
    CmHandle handle = manager.handle(id);
    CallFailure.invalidIf(handle.queuePair() != 0, "it has a queue pair");
    manager.locked(handle.id::establish);
  }

  public void rdma_notify(long id, int eventType) {
    CmHandle handle = manager.handle(id);
    manager.locked(() -> handle.id.notifyOf(eventType));
  }

  public void rdma_disconnect(long id) {
    CmHandle handle = manager.handle(id);
    CallFailure.invalidIf(handle.device == null, "it is not bound to a device");
    queues.fail(handle);
    manager.locked(handle.id::disconnect);
    channels.complete(handle);
  }

  public void rdma_init_qp_attr(long id, long attributes, long mask) {
    CmHandle handle = manager.handle(id);
    Memory.putInt(mask, queues.setAttributes(handle, CStruct.at(attributes, ibv_qp_attr.layout())));
  }

  // Enhanced connection establishment (ECE)

  public void rdma_set_local_ece(long id, long ece) {
    CmHandle handle = manager.handle(id);
    CStruct struct = ece == 0 ? null : CStruct.at(ece, ibv_ece.layout());
    CallFailure.invalidIf(
        struct == null
            || handle.queuePair() != 0
            || struct.getInt("vendor_id") == 0
            || struct.getInt("comp_mask") != 0,
        "no vendor, or there is a queue pair");
    handle.localVendor = struct.getInt("vendor_id");
    handle.localOptions = struct.getInt("options");
  }

  public void rdma_get_remote_ece(long id, long ece) {
    CmHandle handle = manager.handle(id);
    CallFailure.invalidIf(ece == 0 || handle.queuePair() != 0, "there is a queue pair");
    CStruct _ =
        CStruct.at(ece, ibv_ece.layout())
            .putInt("vendor_id", handle.remoteVendor)
            .putInt("options", handle.remoteOptions)
            .putInt("comp_mask", 0);
  }
}
