package dev.verbena.fake;

import dev.verbena.raw.ibv_device;
import dev.verbena.raw.rdma_h;
import dev.verbena.testing.Pipe;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Deque;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.stream.Stream;

/**
 * What the device in memory consists of. Its parts work on it under its own lock, since C's callers
 * may be many threads.
 */
public final class FakeDevice {
  static final String NAME = "memory0";
  static final long GUID = 0x0002_c903_00ab_cdefL;
  static final int MAX_WR = 4096;
  static final int MAX_SGE = 16;
  static final int MAX_INLINE = 256;
  static final int MAX_CQE = 65_536;
  static final int COMPLETION_VECTORS = 2;

  /** Two ports, with a wire between them. */
  static final int PORTS = 2;

  /** A key that names memory: of a region, or of a window that was bound to one. */
  record Region(long pd, long base, long length, long iova, int access) {
    boolean covers(long address, long size) {
      long offset = address - iova;
      return offset >= 0 && size >= 0 && size <= length && offset <= length - size;
    }

    /** Where in memory an address of the region is. */
    long translate(long address) {
      return base + (address - iova);
    }

    boolean allows(int wanted) {
      return (access & wanted) == wanted;
    }
  }

  /** A piece of memory as a request names it. */
  record Piece(long address, int length, int lkey) {}

  /** A completion that waits to be polled. */
  record Completion(
      long wrId, int status, int opcode, int length, int immediate, int flags, int qp, int srcQp) {}

  /** A completion queue. */
  static final class Cq {
    final CStruct struct;
    final FakeCompletions.Channel channel;
    final Deque<Completion> entries = new ArrayDeque<>();
    int capacity;
    boolean armed;
    boolean solicitedOnly;

    /** Whether a completion was lost since the last poll, which is announced once. */
    boolean overrun;

    int unacknowledged;
    int users;

    Cq(CStruct struct, FakeCompletions.Channel channel, int capacity) {
      this.struct = struct;
      this.channel = channel;
      this.capacity = capacity;
    }
  }

  /** A posted receive. */
  record Receive(long wrId, List<Piece> pieces) {}

  /** A posted send request, inline data already taken. */
  record Request(
      long wrId,
      int opcode,
      int flags,
      int immediate,
      List<Piece> pieces,
      MemorySegment inline,
      long remoteAddress,
      int rkey,
      long compareAdd,
      long swap,
      int remoteQp,
      int qkey) {}

  /** Receives that wait for data: of a queue pair, or shared. */
  static final class ReceiveQueue {
    final Deque<Receive> entries = new ArrayDeque<>();
    final long shared;
    int capacity;
    int maxSge;
    int limit;
    int users;

    ReceiveQueue(long shared, int capacity, int maxSge) {
      this.shared = shared;
      this.capacity = capacity;
      this.maxSge = maxSge;
    }
  }

  /** A queue pair. */
  static final class Qp {
    final CStruct struct;
    final int number;
    final int type;
    final long pd;
    final Cq sendCq;
    final Cq recvCq;
    final ReceiveQueue receives;
    final CStruct attributes;
    final CStruct init;
    final boolean allSignaled;
    final Deque<Request> sends = new ArrayDeque<>();

    /** The multicast groups that it is attached to. */
    final Set<String> groups = new HashSet<>();

    int state = rdma_h.IBV_QPS_RESET();

    Qp(
        CStruct struct,
        int number,
        CStruct init,
        long pd,
        Cq sendCq,
        Cq recvCq,
        ReceiveQueue receives,
        CStruct attributes) {
      this.struct = struct;
      this.number = number;
      this.type = init.getInt("qp_type");
      this.pd = pd;
      this.sendCq = sendCq;
      this.recvCq = recvCq;
      this.receives = receives;
      this.attributes = attributes;
      this.init = init;
      this.allSignaled = init.getInt("sq_sig_all") != 0;
    }

    int capacity(String field) {
      return init.getInt("cap." + field);
    }
  }

  /** What a rule asks of a header: the fields in the order of its filter. */
  record FlowHeader(int type, byte[] values, byte[] mask) {}

  /** A rule that brings frames to a queue pair. */
  record Flow(Qp target, int port, int type, int priority, List<FlowHeader> headers) {}

  final Arena arena;
  final CStruct struct;
  final Live<CStruct> contexts = new Live<>("context");
  final Live<CStruct> domains = new Live<>("protection domain");
  final Live<CStruct> regions = new Live<>("memory region");
  final Live<CStruct> addressHandles = new Live<>("address handle");
  final Live<FakeCompletions.Channel> channels = new Live<>("completion channel");
  final Live<Cq> completionQueues = new Live<>("completion queue");
  final Live<ReceiveQueue> sharedQueues = new Live<>("shared receive queue");
  final Live<Qp> queuePairs = new Live<>("queue pair");
  final Live<Flow> flows = new Live<>("flow rule");
  final Live<CStruct> windows = new Live<>("memory window");

  /** The region that each window is bound to. */
  final Map<Long, Long> bindings = new HashMap<>();

  /** The queue pair that each window of type 2 is bound through. */
  final Map<Long, Long> binders = new HashMap<>();

  final Map<Integer, Region> keys = new HashMap<>();
  final Map<Long, Pipe> asyncPipes = new HashMap<>();
  private int nextNumber = 0x100;
  private boolean held;
  private int completionMemory = MAX_CQE;

  FakeDevice(Arena arena) {
    this.arena = arena;
    struct =
        CStruct.in(arena, ibv_device.layout())
            .putInt("node_type", rdma_h.IBV_NODE_CA())
            .putInt("transport_type", rdma_h.IBV_TRANSPORT_IB())
            .putString("name", NAME)
            .putString("dev_name", "uverbs-" + NAME);
  }

  synchronized int nextNumber() {
    return nextNumber++;
  }

  /** Cuts the wire: what is posted stays in its queue, as on a link that is slow. */
  public synchronized void hold() {
    held = true;
  }

  /** Mends the wire; the next request to be posted or received carries on. */
  public synchronized void release() {
    held = false;
  }

  synchronized boolean isHeld() {
    return held;
  }

  /** Leaves less memory for completion queues than the device promises. */
  public synchronized void completionMemory(int entries) {
    completionMemory = entries;
  }

  synchronized boolean hasMemoryFor(int entries) {
    return entries <= completionMemory;
  }

  /** Binds a window to a region, as a request or its invalidation does; to none if that is 0. */
  public synchronized void bind(long window, long region) {
    binders.remove(window);
    if (region == 0) {
      bindings.remove(window);
    } else {
      bindings.put(window, region);
    }
  }

  /** Binds a window of type 2, which from then on keeps the queue pair from being destroyed. */
  public synchronized void bind(long window, long region, long queuePair) {
    bind(window, region);
    binders.put(window, queuePair);
  }

  /** How many queue pairs for packets have receives, and are in a state to use them. */
  public synchronized int listeners() {
    return (int)
        queuePairs.all().stream()
            .filter(qp -> qp.type == rdma_h.IBV_QPT_RAW_PACKET())
            .filter(qp -> qp.state == rdma_h.IBV_QPS_RTR() && !qp.receives.entries.isEmpty())
            .count();
  }

  /** How many receives wait in the own queues of all queue pairs. */
  public synchronized int waitingReceives() {
    return queuePairs.all().stream().mapToInt(qp -> qp.receives.entries.size()).sum();
  }

  Qp byNumber(int number) {
    return queuePairs.all().stream().filter(qp -> qp.number == number).findFirst().orElse(null);
  }

  synchronized List<String> leftOpen() {
    return Stream.of(
            contexts,
            domains,
            regions,
            addressHandles,
            channels,
            completionQueues,
            sharedQueues,
            queuePairs,
            flows,
            windows)
        .filter(live -> !live.all().isEmpty())
        .map(Live::toString)
        .toList();
  }

  synchronized void close() {
    asyncPipes.values().forEach(Pipe::close);
    new ArrayList<>(channels.all()).forEach(channel -> channel.pipe().close());
  }
}
