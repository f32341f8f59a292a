package dev.verbena.verbs;

import dev.verbena.Errno;
import dev.verbena.internal.Librdmacm;
import dev.verbena.internal.Provider;
import dev.verbena.internal.Verbs;
import dev.verbena.internal.foreign.Abi;
import dev.verbena.internal.foreign.Memory;
import dev.verbena.raw.ibv_ah;
import dev.verbena.raw.ibv_context;
import dev.verbena.raw.ibv_context_ops;
import dev.verbena.raw.ibv_cq;
import dev.verbena.raw.ibv_cq_ex;
import dev.verbena.raw.ibv_device;
import dev.verbena.raw.ibv_mr;
import dev.verbena.raw.ibv_mw;
import dev.verbena.raw.ibv_pd;
import dev.verbena.raw.ibv_qp;
import dev.verbena.raw.ibv_qp_attr;
import dev.verbena.raw.ibv_qp_ex;
import dev.verbena.raw.ibv_qp_init_attr_ex;
import dev.verbena.raw.ibv_recv_wr;
import dev.verbena.raw.ibv_send_wr;
import dev.verbena.raw.ibv_srq;
import dev.verbena.raw.ibv_wc;
import dev.verbena.raw.ibv_wq;
import dev.verbena.raw.rdma_h;
import dev.verbena.testing.FunctionPointers;
import dev.verbena.testing.JavaFunctions;
import dev.verbena.values.QueuePairState;
import java.lang.foreign.Arena;
import java.lang.foreign.GroupLayout;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.lang.invoke.MethodHandle;
import java.lang.invoke.MethodHandles;
import java.lang.invoke.MethodType;
import java.lang.reflect.Proxy;
import java.util.Optional;
import java.util.function.BiFunction;
import java.util.function.Consumer;

/**
 * A device played by Java behind C's function pointers: the real data path leads here. It keeps a
 * copy of the requests that it takes, refuses what it is told to refuse, and completes what the
 * test wants completed. Nothing allocates between a post and a poll.
 */
final class RecordingDevice implements AutoCloseable {
  private static final int KEPT = 64;

  private final Arena arena = Arena.ofShared();
  private final JavaFunctions upcalls = new JavaFunctions();
  private final FakeLocks locks = new FakeLocks();
  private final BiFunction<String, MethodType, MethodHandle> extended;
  private final MemorySegment struct = struct(ibv_context.layout());
  private final MemorySegment sends = arena.allocate(KEPT * ibv_send_wr.sizeof(), 8);
  private final MemorySegment receives = arena.allocate(KEPT * ibv_recv_wr.sizeof(), 8);
  private int lastKey;

  final Context context;

  /** How many more requests the queues take. */
  int room = Integer.MAX_VALUE;

  /** What they say when there is no room; a full queue, unless the test wants another failure. */
  int refusal = Errno.ENOMEM;

  /** Whether they say which request they refuse. */
  boolean namesRefused = true;

  int sent;
  int received;

  /** How often receives were posted, in lists of any length. */
  int receivePosts;

  /** How many completions there are, and what they say. */
  int completed;

  int status;
  int completionOpcode;
  int byteLength;
  int immediate;
  int completionFlags;
  int pollResult;

  /** The number of the request that completes next. */
  long nextId;

  /** The pointers of extended queue pairs and completion queues do nothing, and return 0. */
  RecordingDevice() {
    this((name, type) -> MethodHandles.empty(type));
  }

  /** What stands behind the pointers of extended queue pairs and completion queues is given. */
  RecordingDevice(BiFunction<String, MethodType, MethodHandle> extended) {
    this.extended = extended;
    MemorySegment device = ibv_device.allocate(arena);
    ibv_device.name(device).setString(0, "played");
    ibv_context.device(struct, device);
    ibv_context.num_comp_vectors(struct, 1);
    MemorySegment ops = ibv_context.ops(struct);
    ibv_context_ops.post_send(ops, upcall("postSend", long.class, long.class, long.class));
    ibv_context_ops.post_recv(ops, upcall("postReceive", long.class, long.class, long.class));
    ibv_context_ops.post_srq_recv(ops, upcall("postReceive", long.class, long.class, long.class));
    ibv_context_ops.poll_cq(ops, upcall("poll", long.class, int.class, long.class));
    ibv_context_ops.req_notify_cq(ops, upcall("notifyNext", long.class, int.class));
    this.context = Context.borrow(provider(), struct);
  }

  private MemorySegment upcall(String method, Class<?>... parameters) {
    MethodType type = MethodType.methodType(int.class, parameters);
    try {
      MethodHandle handle = MethodHandles.lookup().findVirtual(RecordingDevice.class, method, type);
      return upcalls.stub(handle.bindTo(this));
    } catch (ReflectiveOperationException e) {
      throw new LinkageError("no such method", e);
    }
  }

  /** A struct of this machine's size: on aarch64 some are larger than raw's layouts. */
  private MemorySegment struct(GroupLayout raw) {
    return arena.allocate(Abi.current().layout(raw));
  }

  private long object(GroupLayout layout, Consumer<MemorySegment> fill) {
    MemorySegment object = struct(layout);
    object.set(ValueLayout.ADDRESS, 0, struct); // All objects begin with their context.
    fill.accept(object);
    return object.address();
  }

  private Provider provider() {
    Verbs verbs =
        (Verbs)
            Proxy.newProxyInstance(
                Verbs.class.getClassLoader(),
                new Class<?>[] {Verbs.class},
                (proxy, method, arguments) -> control(method.getName(), arguments));
    return new Provider() {
      @Override
      public Verbs verbs() {
        return verbs;
      }

      @Override
      public Librdmacm rdmacm() {
        throw new UnsupportedOperationException();
      }

      @Override
      public Optional<String> release() {
        return Optional.empty();
      }
    };
  }

  private Object control(String function, Object[] arguments) {
    return switch (function) {
      case "ibv_get_device_name" ->
          ibv_device.name(Memory.at((long) arguments[0], ibv_device.sizeof())).address();
      case "ibv_get_device_guid" -> 0L;
      case "ibv_get_device_index" -> 0;
      case "ibv_alloc_pd" -> object(ibv_pd.layout(), pd -> {});
      case "ibv_create_cq" -> object(ibv_cq.layout(), cq -> {});
      case "ibv_create_cq_ex" ->
          object(ibv_cq_ex.layout(), cq -> fill(ibv_cq_ex.class, ibv_cq_ex.layout(), cq));
      case "ibv_create_ah" -> object(ibv_ah.layout(), ah -> {});
      case "ibv_alloc_mw" -> object(ibv_mw.layout(), mw -> {});
      case "ibv_create_wq" ->
          object(
              ibv_wq.layout(),
              wq ->
                  ibv_wq.post_recv(wq, upcall("postReceive", long.class, long.class, long.class)));
      case "ibv_alloc_parent_domain" -> object(ibv_pd.layout(), pd -> {});
      case "ibv_create_srq", "ibv_create_srq_ex" -> object(ibv_srq.layout(), srq -> {});
      case "ibv_reg_mr", "__ibv_reg_mr", "ibv_reg_mr_iova2" ->
          object(
              ibv_mr.layout(),
              mr -> {
                ibv_mr.lkey(mr, ++lastKey);
                ibv_mr.rkey(mr, lastKey + 1000);
              });
      case "ibv_create_qp_ex" ->
          queuePair(Memory.at((long) arguments[1], ibv_qp_init_attr_ex.sizeof()));
      case "ibv_qp_to_qp_ex" -> arguments[0];
      case "ibv_ack_cq_events", "ibv_close_device" -> null;
      case "ibv_destroy_qp" -> {
        passQueues((long) arguments[0]);
        yield null;
      }
      case "ibv_modify_qp" -> {
        modify((long) arguments[0], (long) arguments[1], (int) arguments[2]);
        yield null;
      }
      case "ibv_bind_mw", "ibv_resize_cq", "ibv_destroy_cq" -> {
        locks.pass((long) arguments[0]);
        yield null;
      }
      case "ibv_modify_wq", "ibv_destroy_wq" -> {
        locks.pass(Memory.getLong((long) arguments[0] + ibv_wq.cq$offset()));
        yield null;
      }
      default -> {
        if (function.matches("ibv_(dealloc|dereg|destroy)_.*")) {
          yield null;
        }
        throw new UnsupportedOperationException(function);
      }
    };
  }

  private long queuePair(MemorySegment attr) {
    return object(
        ibv_qp_ex.layout(),
        qp -> {
          ibv_qp.qp_num(qp, 17);
          ibv_qp.qp_type(qp, ibv_qp_init_attr_ex.qp_type(attr));
          ibv_qp.srq(qp, ibv_qp_init_attr_ex.srq(attr));
          ibv_qp.send_cq(qp, ibv_qp_init_attr_ex.send_cq(attr));
          ibv_qp.recv_cq(qp, ibv_qp_init_attr_ex.recv_cq(attr));
          ibv_qp.state(qp, rdma_h.IBV_QPS_RTS()); // In use at once, unless a test moves it.
          fill(ibv_qp_ex.class, ibv_qp_ex.layout(), qp);
        });
  }

  /** To forget a queue pair's completions is to lock the queues that they lie in. */
  private void passQueues(long qp) {
    locks.pass(Memory.getLong(qp + ibv_qp.send_cq$offset()));
    locks.pass(Memory.getLong(qp + ibv_qp.recv_cq$offset()));
  }

  /** Makes C think that a queue pair is in a state. */
  void state(QueuePair queuePair, QueuePairState state) {
    Memory.putInt(queuePair.segment().address() + ibv_qp.state$offset(), state.code());
  }

  private void modify(long qp, long attributes, int mask) {
    locks.pass(qp);
    if ((mask & rdma_h.IBV_QP_STATE()) != 0) {
      int state = ibv_qp_attr.qp_state(Memory.at(attributes, ibv_qp_attr.sizeof()));
      Memory.putInt(qp + ibv_qp.state$offset(), state);
      if (state == rdma_h.IBV_QPS_RESET()) {
        passQueues(qp);
      }
    }
  }

  private void fill(Class<?> raw, GroupLayout layout, MemorySegment struct) {
    FunctionPointers.fill(
        raw,
        layout,
        struct,
        upcalls,
        (name, type) -> locks.around(name, extended.apply(name, type)));
  }

  /** A request that was taken, as C saw it. */
  MemorySegment send(int index) {
    return sends.asSlice(index % KEPT * ibv_send_wr.sizeof(), ibv_send_wr.sizeof());
  }

  /** A request that was taken, as C saw it. */
  MemorySegment receive(int index) {
    return receives.asSlice(index % KEPT * ibv_recv_wr.sizeof(), ibv_recv_wr.sizeof());
  }

  int postSend(long qp, long wr, long bad) {
    locks.pass(qp);
    long at = wr;
    for (; at != 0; at = Memory.getLong(at + ibv_send_wr.next$offset())) {
      if (room == 0) {
        return refuse(at, bad);
      }
      room--;
      copy(at, send0(sent++), ibv_send_wr.sizeof());
    }
    return 0;
  }

  private long send0(int index) {
    return sends.address() + index % KEPT * ibv_send_wr.sizeof();
  }

  int postReceive(long queue, long wr, long bad) {
    receivePosts++;
    long at = wr;
    for (; at != 0; at = Memory.getLong(at + ibv_recv_wr.next$offset())) {
      if (room == 0) {
        return refuse(at, bad);
      }
      room--;
      copy(at, receives.address() + received++ % KEPT * ibv_recv_wr.sizeof(), ibv_recv_wr.sizeof());
    }
    return 0;
  }

  private int refuse(long wr, long bad) {
    if (namesRefused) {
      Memory.putLong(bad, wr);
    }
    return refusal;
  }

  private static void copy(long from, long to, long size) {
    for (long i = 0; i < size; i += Long.BYTES) {
      Memory.putLong(to + i, Memory.getLong(from + i));
    }
  }

  int poll(long cq, int max, long wc) {
    locks.pass(cq);
    if (pollResult < 0) {
      return pollResult;
    }
    int n = Math.min(max, completed);
    for (int i = 0; i < n; i++) {
      long at = wc + i * ibv_wc.sizeof();
      Memory.putLong(at + ibv_wc.wr_id$offset(), nextId++);
      Memory.putInt(at + ibv_wc.status$offset(), status);
      Memory.putInt(at + ibv_wc.opcode$offset(), completionOpcode);
      Memory.putInt(at + ibv_wc.byte_len$offset(), byteLength);
      Memory.putInt(at + ibv_wc.imm_data$offset(), Integer.reverseBytes(immediate));
      Memory.putInt(at + ibv_wc.qp_num$offset(), 17);
      Memory.putInt(at + ibv_wc.src_qp$offset(), 18);
      Memory.putInt(at + ibv_wc.wc_flags$offset(), completionFlags);
      Memory.putInt(at + ibv_wc.vendor_err$offset(), 0x81);
      Memory.putShort(at + ibv_wc.slid$offset(), (short) 0xfffe);
    }
    completed -= n;
    return n;
  }

  int notifyNext(long cq, int solicitedOnly) {
    locks.pass(cq);
    return 0;
  }

  @Override
  public void close() {
    context.close();
    upcalls.close();
    arena.close();
  }
}
