package dev.verbena.soft.transport;

import static dev.verbena.soft.transport.QueuePairChoices.DC_INITIATOR;
import static dev.verbena.soft.transport.QueuePairChoices.DC_TARGET;

import dev.verbena.Errno;
import dev.verbena.internal.foreign.Abi;
import dev.verbena.raw.ibv_qp;
import dev.verbena.raw.ibv_qp_attr;
import dev.verbena.raw.rdma_h;
import dev.verbena.soft.device.CStruct;
import dev.verbena.soft.device.CallFailure;
import dev.verbena.soft.device.Completion;
import dev.verbena.soft.device.FrameTarget;
import dev.verbena.soft.device.MemoryKey;
import dev.verbena.soft.device.PacketTarget;
import dev.verbena.soft.device.ReceiveRequest;
import dev.verbena.soft.device.Registry;
import dev.verbena.soft.device.SoftAddressVector;
import dev.verbena.soft.device.SoftCompletionCounter;
import dev.verbena.soft.device.SoftCompletionQueue;
import dev.verbena.soft.device.SoftContext;
import dev.verbena.soft.device.SoftDomain;
import dev.verbena.soft.device.SoftObject;
import dev.verbena.soft.device.SoftPort;
import dev.verbena.soft.device.SoftReceiveQueue;
import dev.verbena.soft.device.SoftSharedQueue;
import dev.verbena.soft.device.SoftXrcDomain;
import dev.verbena.soft.engine.Task;
import dev.verbena.soft.engine.Timer;
import dev.verbena.soft.wire.Gids;
import dev.verbena.soft.wire.Opcode;
import dev.verbena.soft.wire.Packet;
import dev.verbena.soft.wire.PacketQueue;
import java.lang.foreign.MemorySegment;
import java.util.HashSet;
import java.util.Set;
import org.jspecify.annotations.Nullable;

/** A queue pair: its state, its queues, and the transport that serves them. */
public final class SoftQueuePair extends SoftObject implements PacketTarget {
  private static final long HANDLE = Abi.current().offsetOf(ibv_qp.layout(), "handle");
  private static final int MIGRATE_AFTER = 2;

  /** After a second of waits a program is told. */
  private static final long LONG_REFUSED = 1_000_000_000;

  private static final System.Logger LOGGER = System.getLogger(SoftQueuePair.class.getName());

  public static final int CONNECTION_OPTIONS = 0x3;

  /** The longest RDMA operation of an SRD queue pair. */
  public static final long MAX_RDMA = 1L << 30;

  /** How many packets wait for a turn: many more than a turn of the device delivers. */
  private static final int MAX_INBOX = 8192;

  public final SoftDomain domain;

  /** {@code enum ibv_qp_type}, or one of the types of DC. */
  public final int type;

  public final int number;

  /** Null where it only receives or spreads frames, and where it only sends. */
  public final @Nullable SoftCompletionQueue sendCompletions;

  public final @Nullable SoftCompletionQueue receiveCompletions;
  public final SendQueue sends;

  /** Receives of its own, or null. */
  public final @Nullable SoftReceiveQueue receives;

  /** The shared receive queue, or null. */
  public final @Nullable SoftSharedQueue sharedQueue;

  /** The XRC domain, or null. */
  public final @Nullable SoftXrcDomain xrcDomain;

  public final QueuePairChoices choices;

  /** The {@code struct ibv_qp_init_attr} that it was created with. */
  public final CStruct init;

  /** The {@code struct ibv_qp_attr} that collects what was modified. */
  public final CStruct attributes = CStruct.allocate(ibv_qp_attr.layout());

  /** Multicast groups that it is attached to. */
  public final Set<Gids> groups = new HashSet<>();

  public final Task task;

  /** The transport's part of BTH opcodes. */
  final int transportBits;

  /** The number of the last frame that a flow rule delivered to it. */
  long lastFrame;

  public volatile int state = rdma_h.IBV_QPS_RESET();

  /** The queue pair number of the peer. */
  public int remoteNumber;

  /** The options of enhanced connection establishment (ECE). */
  public int connectionOptions = CONNECTION_OPTIONS;

  public @Nullable SoftAddressVector path;
  public @Nullable SoftAddressVector alternatePath;

  private final PacketQueue inbox = new PacketQueue();
  private final Completion completion = new Completion();
  private final boolean allSignaled;
  private final TransportService transport;
  private @Nullable SoftCompletionCounter @Nullable [] counters;
  private long nextTag;
  private int nextTagData;
  private int nextSourceLid;

  /** Whether the event of its last receive request was reported. */
  private boolean isLastWqeReported;

  /** Whether the log says why its requests do not end. */
  private volatile boolean isExplained;

  /** The {@code struct mlx5dv_qp_ex} of a DC initiator, or null. */
  public @Nullable MemorySegment mlx5;

  private boolean established;
  private boolean draining;

  /** While it runs, requests that were posted are not begun. */
  private final Timer start;

  /** The number of posted requests for which it was decided whether they begin late. */
  private long decided;

  public SoftQueuePair(
      SoftContext context,
      SoftDomain domain,
      CStruct struct,
      CStruct init,
      int number,
      @Nullable SoftCompletionQueue sendCompletions,
      @Nullable SoftCompletionQueue receiveCompletions,
      @Nullable SoftSharedQueue sharedQueue,
      @Nullable SoftXrcDomain xrcDomain,
      QueuePairChoices choices) {
    super(
        context,
        struct,
        domain,
        xrcDomain,
        sendCompletions,
        receiveCompletions,
        sharedQueue,
        choices.spreading() == null ? null : choices.spreading().table);
    this.domain = domain;
    this.init = init;
    this.type = choices.dcType() != 0 ? choices.dcType() : init.getInt("qp_type");
    this.number = number;
    this.sendCompletions = sendCompletions;
    this.receiveCompletions = receiveCompletions;
    this.sharedQueue = sharedQueue;
    this.xrcDomain = xrcDomain;
    this.choices = choices;
    this.allSignaled = init.getInt("sq_sig_all") != 0;
    boolean receiveOnly = type == rdma_h.IBV_QPT_XRC_RECV();
    boolean sendOnly = type == rdma_h.IBV_QPT_XRC_SEND();
    sends =
        new SendQueue(
            receiveOnly || choices.spreading() != null ? 0 : init.getInt("cap.max_send_wr"),
            init.getInt("cap.max_send_sge"),
            init.getInt("cap.max_inline_data"),
            choices.maxHeader(),
            type == rdma_h.IBV_QPT_DRIVER(),
            choices.inlineWrites());
    receives =
        sharedQueue != null || receiveOnly || sendOnly || choices.spreading() != null
            ? null
            : new SoftReceiveQueue(init.getInt("cap.max_recv_wr"), init.getInt("cap.max_recv_sge"));
    task = new Turn();
    start = new Timer(device.engine.timers(), () -> device.engine.request(task));
    transportBits = transportBits(type);
    transport =
        switch (transportBits) {
          case Opcode.UC -> new UnreliableConnection(this);
          case Opcode.UD -> new DatagramTransport(this);
          case Opcode.RAW -> new RawTransport(this);
          case Opcode.DC -> type == DC_TARGET ? new DcTarget(this) : new DcRequester(this);
          case Opcode.SRD -> new ReliableTransport(new SrdRequester(this), new SrdResponder(this));
          default -> new ReliableTransport(new Requester(this), new Responder(this));
        };
  }

  private static int transportBits(int type) {
    if (type == rdma_h.IBV_QPT_XRC_SEND() || type == rdma_h.IBV_QPT_XRC_RECV()) {
      return Opcode.XRC;
    } else if (type == rdma_h.IBV_QPT_UC()) {
      return Opcode.UC;
    } else if (type == rdma_h.IBV_QPT_UD()) {
      return Opcode.UD;
    } else if (type == rdma_h.IBV_QPT_DRIVER()) {
      return Opcode.SRD;
    } else if (type == DC_TARGET || type == DC_INITIATOR) {
      return Opcode.DC;
    }
    return type == rdma_h.IBV_QPT_RAW_PACKET() ? Opcode.RAW : Opcode.RC;
  }

  /** The queue pair whose {@code ibv_qp} is at an address, or null. */
  public static @Nullable SoftQueuePair at(long address) {
    return Registry.byHandle(address, HANDLE) instanceof SoftQueuePair found ? found : null;
  }

  /** A turn of the queue pair, under the network's lock. */
  private final class Turn extends Task {
    @Override
    public boolean run() {
      if (device.isStopped() && !device.isRemoved()) {
        return false;
      }
      Packet packet;
      while ((packet = inbox.poll()) != null) {
        if (canReceive()) {
          transport.receive(packet);
        }
        device.packets.release(packet);
      }
      if (state == rdma_h.IBV_QPS_ERR() || state == rdma_h.IBV_QPS_SQE()) {
        flush();
        return false;
      }
      return !beginsLate() && transport.send();
    }

    @Override
    public void failed(Throwable t) {
      fail();
      context.events.add(rdma_h.IBV_EVENT_DEVICE_FATAL(), 0);
    }
  }

  /** Whether the requests that were posted are to be begun later. */
  private boolean beginsLate() {
    if (!start.isRunning() && sends.posted() != decided) {
      decided = sends.posted();
      long delay = device.delays.start(number);
      if (delay > 0) {
        start.start(device.engine.now() + delay);
      }
    }
    return start.isRunning();
  }

  @Override
  protected void begin() {
    device.add(this);
  }

  @Override
  public int number() {
    return number;
  }

  @Override
  public boolean isSenderOf(SoftPort from, Packet packet) {
    return from.device == device && packet.sourceNumber == number;
  }

  // State

  void state(int newState) {
    state = newState;
    struct.putInt("qp_base.state", newState);
  }

  /** Whether send requests can be posted now. */
  public boolean takesSends() {
    int s = state;
    return s != rdma_h.IBV_QPS_RESET() && s != rdma_h.IBV_QPS_INIT() && s != rdma_h.IBV_QPS_RTR();
  }

  boolean canSend() {
    int s = state;
    return s == rdma_h.IBV_QPS_RTS() || s == rdma_h.IBV_QPS_SQD();
  }

  public boolean canReceive() {
    int s = state;
    return s == rdma_h.IBV_QPS_RTR()
        || s == rdma_h.IBV_QPS_RTS()
        || s == rdma_h.IBV_QPS_SQD()
        || s == rdma_h.IBV_QPS_SQE();
  }

  /** Stores modified attributes, then enters a new state. */
  public void modified(int mask, int next) {
    int before = state;
    transport.modified(mask);
    state(next);
    if (next == rdma_h.IBV_QPS_RESET()) {
      reset();
    } else if (next == rdma_h.IBV_QPS_ERR()) {
      enterError();
    } else if (next == rdma_h.IBV_QPS_SQD() && before != next) {
      draining = true;
      checkDrained();
    } else {
      if (next == rdma_h.IBV_QPS_RTR() && before != next) {
        established = type == DC_TARGET; // It is never reported for a target.
        struct.putInt("qp_base.qp_num", number); // That of a target is 0 until now.
      }
      device.engine.request(task);
    }
  }

  private void reset() {
    start.stop();
    sends.reset();
    transport.stop();
    inbox.clear(device.packets);
    if (receives != null) {
      receives.clear();
    }
    forgetCompletions();
    isLastWqeReported = false;
    established = false;
    draining = false;
  }

  void forgetCompletions() {
    if (sendCompletions != null) {
      sendCompletions.forget(this);
    }
    if (receiveCompletions != null) {
      receiveCompletions.forget(this);
    }
  }

  /** Enters the error state because of a failure. */
  void toError() {
    if (state != rdma_h.IBV_QPS_ERR() && state != rdma_h.IBV_QPS_RESET()) {
      state(rdma_h.IBV_QPS_ERR());
      enterError();
    }
  }

  @Override
  public void fail() {
    if (state != rdma_h.IBV_QPS_RESET()) {
      state(rdma_h.IBV_QPS_ERR());
      enterError();
    }
  }

  @Override
  public void resume() {
    device.engine.request(task);
  }

  private void enterError() {
    draining = false;
    transport.stop();
    flush();
    if (sharedQueue != null && !isLastWqeReported) {
      isLastWqeReported = true;
      receiveCompletions.after(this, () -> event(rdma_h.IBV_EVENT_QP_LAST_WQE_REACHED()));
    }
  }

  /** A send request of an unreliable service failed: the send queue stops. */
  void sendFailed() {
    if (type == rdma_h.IBV_QPT_RC() || state != rdma_h.IBV_QPS_RTS()) {
      toError();
    } else {
      state(rdma_h.IBV_QPS_SQE());
      flush();
    }
  }

  /** Completes what is still in the queues, with WR_FLUSH_ERR. */
  void flush() {
    while (!sends.isEmpty()) {
      retire(sends.at(sends.retired()), rdma_h.IBV_WC_WR_FLUSH_ERR());
    }
    sends.started = sends.retired();
    if (receives != null && state == rdma_h.IBV_QPS_ERR()) {
      ReceiveRequest request = new ReceiveRequest(Math.max(1, receives.maxElements()));
      while (!receives.isEmpty()) {
        receiveCompletions.reserve();
        boolean _ = receives.take(request);
        completeReceive(
            null, request, rdma_h.IBV_WC_WR_FLUSH_ERR(), rdma_h.IBV_WC_RECV(), 0, null, 0);
      }
    }
  }

  public boolean isDraining() {
    return draining && !sends.isDrained();
  }

  /** Raises the event of a drained send queue, once. */
  void checkDrained() {
    if (draining && state == rdma_h.IBV_QPS_SQD() && sends.isDrained()) {
      draining = false;
      if (attributes.getByte("en_sqd_async_notify") != 0) {
        event(rdma_h.IBV_EVENT_SQ_DRAINED());
      }
    }
  }

  /** Raises the event of the first packet that arrives before the transition to RTS. */
  void communicationEstablished() {
    if (!established) {
      established = true;
      if (state == rdma_h.IBV_QPS_RTR()) {
        event(rdma_h.IBV_EVENT_COMM_EST());
      }
    }
  }

  void event(int type) {
    context.events.add(type, this);
  }

  // Packets

  /** Where the frames of flow rules go. */
  FrameTarget frames() {
    return ((RawTransport) transport).target();
  }

  /** Adds a packet that arrived. */
  @Override
  public void deliver(Packet packet) {
    if (transportBits == Opcode.UC || transportBits == Opcode.UD) {
      transport.receive(packet); // Handled at once: these services send no answers.
      device.packets.release(packet);
    } else {
      if (isArmed() && !path.leadsTo(packet) && alternatePath.leadsTo(packet)) {
        migrate(); // The peer did.
      }
      if (inbox.size() == MAX_INBOX) {
        device.counters.droppedPackets++;
        device.packets.release(packet);
        return;
      }
      inbox.add(packet);
      device.engine.request(task);
    }
  }

  /** Whether the queue pair takes a packet: its state, its transport, its peer. */
  @Override
  public boolean accepts(Packet packet) {
    if (!canReceive()
        || Opcode.transport(packet.opcode) != transportBits
        || (transportBits == Opcode.DC
            && Opcode.isResponse(packet.opcode) == (type == DC_TARGET))) {
      return false;
    }
    return isDatagram()
        || (path != null && path.leadsTo(packet))
        || (alternatePath != null && alternatePath.leadsTo(packet));
  }

  /** Whether packets from all queue pairs are accepted, and name their source. */
  private boolean isDatagram() {
    return transportBits == Opcode.UD || transportBits == Opcode.SRD || type == DC_TARGET;
  }

  /** Sends a packet to the peer. */
  public void transmit(Packet packet) {
    path.address(packet);
    device.fabric.send(path.port(), packet);
  }

  /** A retransmission was needed: after some of them an armed alternate path is used. */
  void pathFailing(int attempts) {
    if (attempts >= MIGRATE_AFTER && isArmed()) {
      migrate();
    }
  }

  private boolean isArmed() {
    return alternatePath != null && attributes.getInt("path_mig_state") == rdma_h.IBV_MIG_ARMED();
  }

  /** Changes to the alternate path. */
  public void migrate() {
    path = alternatePath;
    attributes.putInt("path_mig_state", rdma_h.IBV_MIG_MIGRATED());
    attributes.putByte("port_num", path.port().number);
    event(rdma_h.IBV_EVENT_PATH_MIG());
  }

  /** The memory that a peer may access by a remote key of a domain; null if it may not. */
  @Nullable MemoryKey remoteMemory(int key, SoftDomain of, int access, long address, long length) {
    MemoryKey found = device.keys.get(key);
    return found != null && found.serves(of, this, access) && found.covers(address, length)
        ? found
        : null;
  }

  // Receives

  /** The shared receive queue for a message, or null for the queue pair's own queue. */
  SoftSharedQueue sharedQueueFor(int sharedQueueNumber) {
    return transportBits == Opcode.XRC ? xrcDomain.root.queues.get(sharedQueueNumber) : sharedQueue;
  }

  /** The protection domain of a request, or null if it names no shared receive queue (XRC). */
  @Nullable SoftDomain domainFor(int sharedQueueNumber) {
    if (domain != null) {
      return domain;
    }
    SoftSharedQueue queue = xrcDomain.root.queues.get(sharedQueueNumber);
    return queue == null ? null : queue.domain;
  }

  int maxReceiveElements(@Nullable SoftSharedQueue from) {
    return from != null
        ? from.requests.maxElements()
        : receives == null ? 0 : receives.maxElements();
  }

  boolean takeReceive(@Nullable SoftSharedQueue from, ReceiveRequest into) {
    return from != null ? from.take(into) : receives != null && receives.take(into);
  }

  // Completions

  /** Lets a counter count some operations from now on. */
  public void attach(SoftCompletionCounter counter, int operations) {
    if (counters == null) {
      counters = new SoftCompletionCounter[Integer.SIZE];
    }
    for (int i = 0; i < counters.length; i++) {
      if ((operations & 1 << i) != 0 && counters[i] != null) {
        throw CallFailure.of(Errno.EBUSY, "a counter is attached for the operations");
      }
    }
    for (int i = 0; i < counters.length; i++) {
      if ((operations & 1 << i) != 0) {
        counters[i] = counter;
        counter.use(1);
      }
    }
  }

  /** Counts an operation, if a counter is attached for it. */
  void count(int operation, boolean failed, long bytes) {
    if (counters != null && operation != 0) {
      SoftCompletionCounter counter = counters[Integer.numberOfTrailingZeros(operation)];
      if (counter != null) {
        counter.count(failed, bytes);
      }
    }
  }

  /** Logs, once for a queue pair, why its requests do not end; a NIC would say nothing. */
  private void explain(String why) {
    if (isExplained) {
      return;
    }
    isExplained = true;
    try {
      String line = "queue pair 0x%x of %s: %s".formatted(number, device.name, why);
      LOGGER.log(System.Logger.Level.WARNING, line);
    } catch (RuntimeException | OutOfMemoryError | StackOverflowError ofLog) {
      // A handler of the program has failed, or the heap is full: requests do not fail by it.
    }
  }

  /** Explains sends that the peer has refused for a time. */
  void explainRefused(long nanos) {
    if (nanos > LONG_REFUSED) {
      explain(
          "the peer has no receive request (RNR), and sends are repeated: it must post receive"
              + " requests before this end sends");
    }
  }

  /** Explains a send queue that stays full: without a completion no slot becomes free. */
  public void explainFull() {
    if (state == rdma_h.IBV_QPS_RTS() && !allSignaled && sends.isFullForEver()) {
      explain(
          "the send queue is full of requests that are done, none of them signaled, and stays"
              + " full: signal at least one of "
              + sends.capacity());
    }
  }

  /** Retires the oldest send request, and completes it if it is signaled or failed. */
  void retire(SoftSendRequest request, int status) {
    sendCompletions.reserve();
    boolean failed = status != rdma_h.IBV_WC_SUCCESS();
    count(request.countedOperation(), failed, request.length());
    if (!failed && !allSignaled && !request.has(rdma_h.IBV_SEND_SIGNALED())) {
      sends.retire();
      return;
    }
    boolean isSrdRead = transportBits == Opcode.SRD && request.isRead();
    completion.begin( // libefa does not tell reads and sends apart.
        this, number, isSrdRead ? rdma_h.IBV_WC_SEND() : request.completionOpcode());
    completion.wrId = request.wrId;
    completion.status = status;
    completion.length = failed ? 0 : (int) request.length();
    completion.slots = sends;
    completion.position = sends.retired();
    sends.retire();
    sendCompletions.add(completion, false);
  }

  /** Sets the tag and the user data of the next receive completion. */
  void tagged(long tag, int data) {
    nextTag = tag;
    nextTagData = data;
  }

  /** Completes a receive request. */
  void completeReceive(
      @Nullable SoftSharedQueue from,
      ReceiveRequest request,
      int status,
      int opcode,
      int length,
      @Nullable Packet packet,
      int flags) {
    completion.begin(this, number, opcode, request);
    completion.late = request.late;
    request.late = null;
    completion.status = status;
    completion.length = length;
    completion.flags = flags;
    if (packet != null) {
      source(packet);
    }
    completion.tag = nextTag;
    completion.tagData = nextTagData;
    tagged(0, 0);
    count(rdma_h.IBV_QP_ATTACH_COMP_CNTR_OP_RECV(), status != rdma_h.IBV_WC_SUCCESS(), length);
    receiveCompletionsOf(from).add(completion, packet != null && packet.solicited);
  }

  /** Completes an RDMA write with immediate data that consumes no receive request. */
  void completeUnsolicited(Packet packet, int length) {
    receiveCompletions.reserve();
    completion.begin(this, number, rdma_h.IBV_WC_RECV_RDMA_WITH_IMM());
    completion.length = length;
    completion.flags = rdma_h.IBV_WC_WITH_IMM();
    completion.unsolicited = true;
    source(packet);
    receiveCompletions.add(completion, false);
  }

  /** Sets the number of the address handle for the sender of the next receive completion. */
  void sourced(int lid) {
    nextSourceLid = lid;
  }

  private void source(Packet packet) {
    completion.immediate = packet.immediate;
    completion.serviceLevel = packet.serviceLevel;
    completion.sourceQueuePair = isDatagram() ? packet.sourceNumber : remoteNumber;
    completion.sourceLid = nextSourceLid;
    completion.sourceGidHigh = packet.sourceGidHigh;
    completion.sourceGidLow = packet.sourceGidLow;
  }

  /** The completion queue of the receives from a shared receive queue, or null for its own. */
  SoftCompletionQueue receiveCompletionsOf(@Nullable SoftSharedQueue from) {
    return from != null && from.completionQueue != null ? from.completionQueue : receiveCompletions;
  }

  @Override
  public void requireUnused() {
    super.requireUnused();
    if (!groups.isEmpty()) {
      throw CallFailure.of(Errno.EBUSY, "attached to a multicast group");
    }
  }

  /** Ends all work: the queue pair is destroyed. */
  @Override
  protected void end() {
    state(rdma_h.IBV_QPS_RESET());
    reset();
    device.remove(this);
    if (counters != null) {
      for (SoftCompletionCounter counter : counters) {
        if (counter != null) {
          counter.use(-1);
        }
      }
      counters = null;
    }
  }
}
