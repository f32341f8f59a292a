package dev.verbena.cm;

import dev.verbena.Errno;
import dev.verbena.VerbsException;
import dev.verbena.internal.Librdmacm;
import dev.verbena.internal.foreign.Abi;
import dev.verbena.internal.foreign.Memory;
import dev.verbena.raw.ibv_context;
import dev.verbena.raw.rdma_cm_event;
import dev.verbena.raw.rdma_cm_id;
import dev.verbena.raw.rdma_event_channel;
import dev.verbena.raw.rdma_h;
import dev.verbena.testing.Pipe;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.lang.reflect.Proxy;
import java.util.Collection;
import java.util.Deque;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ConcurrentLinkedDeque;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.function.Consumer;

/**
 * librdmacm played by Java, for events that no software device raises: it hands out the events that
 * a test wrote, and keeps account of what is given back.
 */
final class FakeRdmacm implements AutoCloseable {
  private final Arena arena = Arena.ofShared();
  private final Pipe pipe = new Pipe();
  private final Deque<MemorySegment> events = new ConcurrentLinkedDeque<>();

  /** What the resolutions of addresses to come end with; 0 when there is none left. */
  final Deque<Integer> resolutions = new ConcurrentLinkedDeque<>();

  /** For how long each was asked for. */
  final List<Integer> resolutionTimes = new CopyOnWriteArrayList<>();

  private final Map<String, Consumer<Object[]>> plays = new ConcurrentHashMap<>();
  final List<Long> acknowledged = new CopyOnWriteArrayList<>();
  final List<Long> destroyed = new CopyOnWriteArrayList<>();

  /** Of each open channel, where each has a descriptor of its own. */
  private final Map<Long, Pipe> descriptors = new ConcurrentHashMap<>();

  private boolean ownDescriptors;

  /** Calls on channels that were destroyed. */
  final List<String> misuses = new CopyOnWriteArrayList<>();

  /** What Java called, in order. */
  final List<String> calls = new CopyOnWriteArrayList<>();

  final Librdmacm rdmacm =
      (Librdmacm)
          Proxy.newProxyInstance(
              Librdmacm.class.getClassLoader(),
              new Class<?>[] {Librdmacm.class},
              (proxy, method, arguments) -> call(method.getName(), arguments));

  /** Gives each channel a descriptor of its own, which is closed with the channel. */
  FakeRdmacm withDescriptors() {
    ownDescriptors = true;
    return this;
  }

  EventChannel channel() {
    return EventChannel.open(rdmacm);
  }

  /** Has a function do something, or do something more; it fails by throwing. */
  void play(String function, Consumer<Object[]> action) {
    plays.put(function, action);
  }

  private Object call(String function, Object[] arguments) {
    calls.add(function);
    Consumer<Object[]> played = plays.get(function);
    if (played != null) {
      played.accept(arguments);
    }
    return switch (function) {
      case "rdma_create_event_channel" -> {
        MemorySegment channel = rdma_event_channel.allocate(arena);
        rdma_event_channel.fd(channel, descriptor(channel.address()));
        yield channel.address();
      }
      case "rdma_create_id" -> {
        requireOpen(function, (long) arguments[0]);
        Memory.putLong((long) arguments[1], id((int) arguments[3]).address());
        yield null;
      }
      case "rdma_get_cm_event" -> {
        requireOpen(function, (long) arguments[0]);
        MemorySegment event = events.poll();
        if (event == null) {
          throw new VerbsException(function, Errno.EAGAIN);
        }
        Memory.putLong((long) arguments[1], event.address());
        yield null;
      }
      case "rdma_ack_cm_event" -> {
        acknowledged.add((long) arguments[0]);
        // What C frees may hold anything at once.
        Memory.at((long) arguments[0], rdma_cm_event.sizeof()).fill((byte) 0x5a);
        yield 0;
      }
      case "rdma_resolve_addr" -> {
        resolve(Memory.at((long) arguments[0], rdma_cm_id.sizeof()));
        resolutionTimes.add((int) arguments[3]);
        yield null;
      }
      case "rdma_resolve_route" -> {
        event(
            rdma_h.RDMA_CM_EVENT_ROUTE_RESOLVED(), 0, MemorySegment.ofAddress((long) arguments[0]));
        yield null;
      }
      case "rdma_destroy_id", "rdma_destroy_ep" -> {
        destroyed.add((long) arguments[0]);
        Memory.at((long) arguments[0], rdma_cm_id.sizeof()).fill((byte) 0x5a);
        yield null;
      }
      case "rdma_destroy_event_channel" -> {
        if (ownDescriptors) {
          descriptors.remove((long) arguments[0]).close();
        }
        yield null;
      }
      case "rdma_migrate_id" -> null;
      default -> {
        if (played == null) {
          throw new UnsupportedOperationException(function);
        }
        yield null;
      }
    };
  }

  private int descriptor(long channel) {
    if (!ownDescriptors) {
      return pipe.readEnd();
    }
    Pipe own = new Pipe();
    descriptors.put(channel, own);
    return own.readEnd();
  }

  private void requireOpen(String function, long channel) {
    if (ownDescriptors && !descriptors.containsKey(channel)) {
      misuses.add(function + " on a destroyed channel");
    }
  }

  private void resolve(MemorySegment id) {
    int status = resolutions.isEmpty() ? 0 : resolutions.poll();
    if (status == 0) {
      rdma_cm_id.verbs(id, arena.allocate(Abi.current().layout(ibv_context.layout())));
      event(rdma_h.RDMA_CM_EVENT_ADDR_RESOLVED(), 0, id);
    } else {
      event(rdma_h.RDMA_CM_EVENT_ADDR_ERROR(), status, id);
    }
    wake();
  }

  /** An identifier that C made. */
  MemorySegment id(int portSpace) {
    MemorySegment id = rdma_cm_id.allocate(arena);
    rdma_cm_id.ps(id, portSpace);
    rdma_cm_id.qp_type(
        id, portSpace == rdma_h.RDMA_PS_TCP() ? rdma_h.IBV_QPT_RC() : rdma_h.IBV_QPT_UD());
    return id;
  }

  /** An event that comes next, to be filled. */
  MemorySegment event(int type, int status, MemorySegment id) {
    MemorySegment event = rdma_cm_event.allocate(arena);
    rdma_cm_event.event(event, type);
    rdma_cm_event.status(event, status);
    rdma_cm_event.id(event, id);
    events.add(event);
    return event;
  }

  /** Makes whoever waits for an event look whether there is one. */
  void wake() {
    pipes().forEach(one -> one.write(1));
  }

  /** Ends what {@link #wake} began. */
  void calm() {
    pipes().forEach(Pipe::read);
  }

  private Collection<Pipe> pipes() {
    return ownDescriptors ? descriptors.values() : List.of(pipe);
  }

  MemorySegment bytes(byte... bytes) {
    return arena.allocateFrom(ValueLayout.JAVA_BYTE, bytes);
  }

  @Override
  public void close() {
    descriptors.values().forEach(Pipe::close);
    pipe.close();
    arena.close();
  }
}
