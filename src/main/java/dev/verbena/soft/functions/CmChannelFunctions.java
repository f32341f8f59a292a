package dev.verbena.soft.functions;

import dev.verbena.Errno;
import dev.verbena.VerbsException;
import dev.verbena.internal.foreign.Memory;
import dev.verbena.raw.ibv_ah_attr;
import dev.verbena.raw.rdma_cm_event;
import dev.verbena.raw.rdma_h;
import dev.verbena.soft.cm.CmChannel;
import dev.verbena.soft.cm.CmEvent;
import dev.verbena.soft.cm.CmHandle;
import dev.verbena.soft.cm.CmId;
import dev.verbena.soft.cm.CmManager;
import dev.verbena.soft.cm.CmMembership;
import dev.verbena.soft.cm.CmPath;
import dev.verbena.soft.cm.CmQueues;
import dev.verbena.soft.device.CStruct;
import dev.verbena.soft.device.CallFailure;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;

/** Event channels of RDMA CM, and their events. */
final class CmChannelFunctions {
  private static final long EVENT = rdma_cm_event.sizeof();

  /** The names of {@code enum rdma_cm_event_type}, which begins with 0. */
  private static final List<MemorySegment> NAMES =
      Stream.of(
              """
              ADDR_RESOLVED ADDR_ERROR ROUTE_RESOLVED ROUTE_ERROR CONNECT_REQUEST CONNECT_RESPONSE \
              CONNECT_ERROR UNREACHABLE REJECTED ESTABLISHED DISCONNECTED DEVICE_REMOVAL \
              MULTICAST_JOIN MULTICAST_ERROR ADDR_CHANGE TIMEWAIT_EXIT ADDRINFO_RESOLVED \
              ADDRINFO_ERROR\
              """
                  .split(" ", -1))
          .map(name -> Arena.global().allocateFrom("RDMA_CM_EVENT_" + name))
          .toList();

  private static final MemorySegment UNKNOWN = Arena.global().allocateFrom("UNKNOWN EVENT");

  /**
   * An event that was taken and is not yet acknowledged: its struct, and the objects whose
   * destruction waits for the acknowledgement.
   */
  private record Taken(MemorySegment memory, CmHandle handle, CmMembership group) {}

  private final CmManager manager;
  private final CmQueues queues;
  private final Map<Long, Taken> taken = new ConcurrentHashMap<>();

  CmChannelFunctions(CmManager manager, CmQueues queues) {
    this.manager = manager;
    this.queues = queues;
  }

  public long rdma_event_str(int event) {
    boolean isKnown = event >= 0 && event < NAMES.size();
    return (isKnown ? NAMES.get(event) : UNKNOWN).address();
  }

  // Channels

  public long rdma_create_event_channel() {
    return manager.openChannel().address();
  }

  public void rdma_destroy_event_channel(long channel) {
    manager.close(manager.channel(channel));
  }

  // Events

  public void rdma_get_cm_event(long channelAddress, long event) {
    CmChannel channel = manager.channel(channelAddress);
    Taken next = null;
    while (next == null) {
      int errno = channel.await();
      if (errno != 0) {
        throw CallFailure.of(errno);
      }
      CmEvent polled = manager.locked(() -> take(channel));
      if (polled != null) {
        next = processOrAcknowledge(polled);
      }
    }
    taken.put(next.memory.address(), next);
    Memory.putLong(event, next.memory.address());
  }

  private static CmEvent take(CmChannel channel) {
    CmEvent event = channel.poll();
    if (event != null) {
      event.id().eventsTaken++;
      if (event.parameters() instanceof CmEvent.Group group) {
        group.membership().taken++;
      } else if (event.parameters() instanceof CmEvent.Request) {
        event.id().requestTaken();
      }
    }
    return event;
  }

  /** Destroying the identifier would wait for an event that the program did not get. */
  private Taken processOrAcknowledge(CmEvent event) {
    CmHandle handle = event.id().handle;
    try {
      return process(event);
    } catch (Throwable t) {
      handle.acknowledge(
          event.parameters() instanceof CmEvent.Group joined ? joined.membership() : null);
      throw t;
    }
  }

  /** Processes an event as librdmacm does; returns null if the program does not receive it. */
  private @Nullable Taken process(CmEvent event) {
    CmHandle handle = event.id().handle;
    int type = event.type();
    int status = event.status();
    CmHandle about = handle;
    CmMembership group = null;
    if (event.parameters() instanceof CmEvent.Request request) {
      about = newHandle(request, handle);
      if (about == null) {
        return null;
      }
    } else if (type == rdma_h.RDMA_CM_EVENT_ADDR_RESOLVED() && !updates(handle)) {
      type = rdma_h.RDMA_CM_EVENT_ADDR_ERROR();
      status = -1;
    } else if (type == rdma_h.RDMA_CM_EVENT_ROUTE_RESOLVED()) {
      handle.updatePath();
    } else if (type == rdma_h.RDMA_CM_EVENT_CONNECT_RESPONSE()) {
      CmEvent.Connection response = (CmEvent.Connection) event.parameters();
      handle.remoteVendor = response.vendor();
      handle.remoteOptions = response.options();
      if (handle.queuePair() != 0) {
        handle.isBroken = !connects(handle);
        type =
            handle.isBroken
                ? rdma_h.RDMA_CM_EVENT_CONNECT_ERROR()
                : rdma_h.RDMA_CM_EVENT_ESTABLISHED();
        status = handle.isBroken ? -1 : 0;
      }
    } else if (type == rdma_h.RDMA_CM_EVENT_REJECTED()
        || type == rdma_h.RDMA_CM_EVENT_DISCONNECTED()) {
      if (handle.isBroken) {
        handle.acknowledge(null);
        return null;
      }
      if (type == rdma_h.RDMA_CM_EVENT_REJECTED()) {
        fail(handle);
      }
    } else if (event.parameters() instanceof CmEvent.Group joined) {
      group = joined.membership();
      if (!queues.attach(handle, group)) {
        type = rdma_h.RDMA_CM_EVENT_MULTICAST_ERROR();
        status = -1;
      }
    }
    MemorySegment memory = write(event, type, status, about);
    return new Taken(memory, handle, group);
  }

  private boolean connects(CmHandle handle) {
    try {
      queues.connect(handle);
      manager.locked(handle.id::establish);
      return true;
    } catch (VerbsException e) {
      fail(handle);
      return false;
    }
  }

  /** As librdmacm, which returns the event whether this succeeds or not. */
  private void fail(CmHandle handle) {
    try {
      queues.fail(handle);
    } catch (VerbsException e) {
      // Such as EIO, when the device is removed: its event follows.
    }
  }

  /** Returns whether the device could be opened and has a domain for the identifier. */
  private static boolean updates(CmHandle handle) {
    try {
      handle.update();
      return true;
    } catch (VerbsException e) {
      return false;
    }
  }

  /** Makes the identifier of a request; rejects the request and returns null if this fails. */
  private @Nullable CmHandle newHandle(CmEvent.Request request, CmHandle listener) {
    CmId made = request.made();
    CmHandle handle =
        new CmHandle(manager, made, listener.struct.getLong("context"), listener.isSynchronous);
    if (request.parameters() instanceof CmEvent.Connection asked) {
      handle.initiatorDepth = asked.initiatorDepth();
      handle.responderResources = asked.responderResources();
      handle.remoteVendor = asked.vendor();
      handle.remoteOptions = asked.options();
    }
    manager.add(handle);
    if (!updates(handle)) {
      manager.locked(made::destroy);
      manager.remove(handle);
      listener.acknowledge(null);
      return null;
    }
    handle.updatePath();
    if (listener.isSynchronous) {
      CmChannel own = manager.openChannel();
      manager.locked(() -> made.moveTo(own));
      handle.struct.putLong("channel", own.address());
    }
    return handle;
  }

  private static MemorySegment write(CmEvent event, int type, int status, CmHandle about) {
    CmEvent.Parameters parameters =
        event.parameters() instanceof CmEvent.Request request
            ? request.parameters()
            : event.parameters();
    byte[] data =
        switch (parameters) {
          case CmEvent.Connection connection -> connection.data();
          case CmEvent.Service service -> service.data();
          default -> new byte[0];
        };
    MemorySegment memory = Arena.ofAuto().allocate(EVENT + data.length, Long.BYTES);
    memory.asSlice(EVENT).copyFrom(MemorySegment.ofArray(data));
    CStruct struct = CStruct.at(memory.address(), rdma_cm_event.layout());
    struct
        .putLong("id", about.address())
        .putLong(
            "listen_id",
            event.parameters() instanceof CmEvent.Request ? event.id().handle.address() : 0)
        .putInt("event", type)
        .putInt("status", status);
    long dataAddress = data.length == 0 ? 0 : memory.address() + EVENT;
    switch (parameters) {
      case CmEvent.Connection connection -> write(connection, struct, dataAddress);
      case CmEvent.Service service -> write(service, struct, dataAddress);
      case CmEvent.Group group -> write(group.service(), struct, group.membership().context);
      case CmEvent.Argument argument -> struct.putLong("param.arg", argument.value());
      case CmEvent.Request _ -> throw new AssertionError(parameters);
    }
    return memory;
  }

  private static void write(CmEvent.Connection connection, CStruct struct, long data) {
    struct
        .putLong("param.conn.private_data", data)
        .putByte("param.conn.private_data_len", connection.data().length)
        .putByte("param.conn.responder_resources", connection.responderResources())
        .putByte("param.conn.initiator_depth", connection.initiatorDepth())
        .putByte("param.conn.flow_control", connection.flowControl() ? 1 : 0)
        .putByte("param.conn.retry_count", connection.retryCount())
        .putByte("param.conn.rnr_retry_count", connection.rnrRetryCount())
        .putByte("param.conn.srq", connection.sharedQueue() ? 1 : 0)
        .putInt("param.conn.qp_num", connection.queuePair());
  }

  private static void write(CmEvent.Service service, CStruct struct, long data) {
    struct
        .putLong("param.ud.private_data", data)
        .putByte("param.ud.private_data_len", service.data().length)
        .putInt("param.ud.qp_num", service.queuePair())
        .putInt("param.ud.qkey", service.queueKey());
    if (service.port() != null) {
      CmPath.write(
          struct.at("param.ud.ah_attr", ibv_ah_attr.layout()), service.port(), service.path());
    }
  }

  public int rdma_ack_cm_event(long event) {
    Taken acknowledged = taken.remove(event);
    if (acknowledged == null) {
      throw CallFailure.invalid("no such event was taken");
    }
    acknowledged.handle.acknowledge(acknowledged.group);
    return 0;
  }

  public void rdma_write_cm_event(long id, int type, int status, long argument) {
    CmHandle handle = manager.handle(id);
    CallFailure.invalidIf(
        type != rdma_h.RDMA_CM_EVENT_USER(), "event " + type + " is not the program's");
    manager.locked(() -> handle.id.userEvent(type, status, argument));
  }

  // What functions in synchronous mode wait for

  /** Waits for the event that an operation ends with, if the identifier is in synchronous mode. */
  void complete(CmHandle handle) {
    if (!handle.isSynchronous) {
      return;
    }
    acknowledgeLast(handle);
    rdma_get_cm_event(handle.id.channel.address(), handle.struct.addressOf("event"));
    CStruct event = CStruct.at(handle.struct.getLong("event"), rdma_cm_event.layout());
    int status = event.getInt("status");
    if (status != 0) {
      throw CallFailure.of(
          event.getInt("event") == rdma_h.RDMA_CM_EVENT_REJECTED()
              ? Errno.ECONNREFUSED
              : Math.abs(status));
    }
  }

  /** Acknowledges the event that the identifier keeps, if there is one. */
  void acknowledgeLast(CmHandle handle) {
    long last = handle.struct.getLong("event");
    if (last != 0) {
      int _ = rdma_ack_cm_event(last);
      handle.struct.putLong("event", 0);
    }
  }
}
