package dev.verbena.soft.device;

import dev.verbena.VerbsException;
import dev.verbena.internal.foreign.ProcessMemory;
import dev.verbena.internal.time.Simulated;
import dev.verbena.internal.time.Time;
import dev.verbena.raw.ibv_device;
import dev.verbena.raw.rdma_h;
import dev.verbena.soft.engine.Engine;
import dev.verbena.soft.wire.Gids;
import dev.verbena.soft.wire.IntMap;
import dev.verbena.soft.wire.PacketPool;
import dev.verbena.soft.wire.Psn;
import java.util.ArrayList;
import java.util.BitSet;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.function.LongUnaryOperator;
import java.util.random.RandomGenerator;
import org.jspecify.annotations.Nullable;

/** A software device: its ports, its objects, and the limits that it reports. */
public final class SoftDevice {
  public static final int MAX_WR = 16_384;
  public static final int MAX_SGE = 32;
  public static final int MAX_INLINE = 1024;
  public static final int MAX_CQE = 4 * 1024 * 1024 - 1;
  public static final int MAX_OBJECTS = 65_536;
  public static final int MAX_READS = 128;

  /** The maximum number of outstanding READ and atomic requests of a DC initiator. */
  public static final int MAX_DC_READS = 16;

  public static final int VECTORS = 4;
  public static final long MAX_MESSAGE = 1L << 30;

  /** The highest rate limit, in kbit/s. */
  public static final int MAX_RATE = 100_000_000;

  public static final int MAX_MULTICAST = 64;
  public static final long MAX_DEVICE_MEMORY = 256 * 1024;

  private static final long NANOS_OF_A_MILLISECOND = 1_000_000;

  private static final int FIRST_NUMBER = 0x11;

  /** Carries its packets. */
  public final Fabric fabric;

  /** Does its work. */
  public final Engine engine;

  public final PacketPool packets;
  public final FailingCalls failingCalls;
  public final Delays delays;
  public final ProcessMemory memory = new ProcessMemory();
  public final String name;
  public final long guid;
  public final CStruct struct;
  public final List<SoftPort> ports;
  public final KeyTable keys = new KeyTable();
  public final DeviceCounters counters = new DeviceCounters();
  public final List<SoftContext> contexts = new ArrayList<>();

  /** Which device's limits it has. */
  public final Profile profile;

  /** The path MTU of the ports, in bytes. */
  public final int mtu;

  /** The numbers of the remote ports that there are address handles for. */
  final BitSet peerNumbers = new BitSet();

  private final IntMap<PacketTarget> queuePairs = new IntMap<>();
  private final Map<Gids, List<PacketTarget>> groups = new HashMap<>();
  private final long clockOffset;

  /** In a simulation, each device has a clock of its own. */
  private final LongUnaryOperator ownClock;

  private int nextNumber;
  private int nextSharedQueueNumber = 1;

  public long freeDeviceMemory = MAX_DEVICE_MEMORY;

  /** Whether posting reports full queues, by a fault. */
  public volatile boolean queuesFull;

  private volatile long clockKilohertz = NANOS_OF_A_MILLISECOND;
  private volatile long clockMask = -1;

  private volatile boolean removed;
  private volatile boolean lost;

  /**
   * Whether its host stands still: nothing leaves it or arrives, and its queue pairs do no work.
   */
  private volatile boolean stopped;

  /** Receives the management datagrams (MAD) of queue pair 1, or null. */
  private @Nullable ManagementHandler management;

  public SoftDevice(
      Fabric fabric,
      Engine engine,
      PacketPool packets,
      FailingCalls failingCalls,
      Delays delays,
      String name,
      Profile profile,
      long guid,
      List<List<Gids>> addresses) {
    this.fabric = fabric;
    this.engine = engine;
    this.packets = packets;
    this.failingCalls = failingCalls;
    this.delays = delays;
    this.name = name;
    this.profile = profile;
    this.guid = guid;
    this.mtu = fabric.mtu();
    List<SoftPort> made = new ArrayList<>();
    for (List<Gids> gids : addresses) {
      made.add(new SoftPort(this, made.size() + 1, table(guid + made.size(), gids)));
    }
    ports = List.copyOf(made);
    struct =
        CStruct.allocate(ibv_device.layout())
            .putInt("node_type", profile.isIwarp() ? rdma_h.IBV_NODE_RNIC() : rdma_h.IBV_NODE_CA())
            .putInt(
                "transport_type",
                profile.isIwarp() ? rdma_h.IBV_TRANSPORT_IWARP() : rdma_h.IBV_TRANSPORT_IB())
            .putString("name", name)
            .putString("dev_name", "soft-" + name);
    nextNumber = Time.random(RandomGenerator.getDefault()).nextInt(FIRST_NUMBER, 0x800000);
    clockOffset = Time.wallClock() - Time.now();
    Simulated simulation = Time.simulation();
    ownClock = simulation == null ? LongUnaryOperator.identity() : simulation.otherClock();
  }

  /** A GID table: a link-local GID, which only devices of the same network can reach, first. */
  private List<Gids> table(long portGuid, List<Gids> addresses) {
    List<Gids> table = new ArrayList<>();
    if (!fabric.isLinked()) {
      table.add(Gids.linkLocal(portGuid));
    }
    table.addAll(addresses);
    return table;
  }

  /** The path MTU as {@code enum ibv_mtu}. */
  public int mtuCode() {
    return Integer.numberOfTrailingZeros(mtu) - 7;
  }

  /** Sets the frequency of the clock and its number of bits. */
  public void clock(long kilohertz, int bits) {
    clockKilohertz = kilohertz;
    clockMask = -1L >>> (Long.SIZE - bits);
  }

  public long clockKilohertz() {
    return clockKilohertz;
  }

  public long clockMask() {
    return clockMask;
  }

  /** The ticks of the device clock at a time of the network's clock. */
  public long ticks(long nanoTime) {
    long own = ownClock.applyAsLong(nanoTime);
    long milliseconds = own / NANOS_OF_A_MILLISECOND;
    long rest = own % NANOS_OF_A_MILLISECOND;
    long ticks = milliseconds * clockKilohertz + rest * clockKilohertz / NANOS_OF_A_MILLISECOND;
    return ticks & clockMask;
  }

  /** The wall clock at a time of the network's clock, in nanoseconds since 1970. */
  long wallClock(long nanoTime) {
    return ownClock.applyAsLong(nanoTime) + clockOffset;
  }

  /**
   * A port by its number.
   *
   * @throws VerbsException EINVAL if there is none
   */
  public SoftPort port(int number) {
    CallFailure.invalidIf(
        number < 1 || number > ports.size(),
        name + " has ports 1 to " + ports.size() + ", not " + number);
    return ports.get(number - 1);
  }

  // Queue pairs

  public int newNumber() {
    do {
      nextNumber = nextNumber == Psn.MASK - 1 ? FIRST_NUMBER : nextNumber + 1;
    } while (queuePairs.get(nextNumber) != null);
    return nextNumber;
  }

  public void add(PacketTarget queuePair) {
    queuePairs.put(queuePair.number(), queuePair);
  }

  public void remove(PacketTarget queuePair) {
    queuePairs.remove(queuePair.number());
  }

  /** The queue pair with a number, or null. */
  public @Nullable PacketTarget queuePair(int number) {
    return queuePairs.get(number);
  }

  /** A number for an XRC shared receive queue. */
  public int newSharedQueueNumber() {
    return nextSharedQueueNumber++;
  }

  // Multicast

  public void attach(PacketTarget queuePair, Gids group) {
    List<PacketTarget> members = groups.computeIfAbsent(group, g -> new ArrayList<>());
    if (members.isEmpty()) {
      fabric.join(this, group);
    }
    members.add(queuePair);
  }

  public void detach(PacketTarget queuePair, Gids group) {
    List<PacketTarget> members = groups.get(group);
    members.remove(queuePair);
    if (members.isEmpty()) {
      groups.remove(group);
      fabric.leave(this, group);
    }
  }

  /** The queue pairs that are attached to a group. */
  public List<PacketTarget> members(Gids group) {
    return groups.getOrDefault(group, List.of());
  }

  // Management datagrams

  /** Sets the receiver of the management datagrams of queue pair 1. */
  public void management(ManagementHandler handler) {
    management = handler;
  }

  public ManagementHandler management() {
    return management;
  }

  /** Fails what is outstanding, since an internal error concerns it. */
  public void internalError() {
    Registry.of(this).forEach(SoftObject::fail);
    fatal();
  }

  /** Raises {@code IBV_EVENT_DEVICE_FATAL} on all contexts. */
  private void fatal() {
    contexts.forEach(context -> context.events.add(rdma_h.IBV_EVENT_DEVICE_FATAL(), 0));
  }

  /** The device was removed: {@link SoftObject#fail} is called for its objects. */
  public void remove() {
    removed = true;
    fatal();
  }

  public boolean isRemoved() {
    return removed;
  }

  /** Its host stands still from now on. */
  public void stop() {
    stopped = true;
  }

  /** Its host goes on: {@link SoftObject#resume} is called for its objects. */
  public void resume() {
    stopped = false;
  }

  public boolean isStopped() {
    return stopped;
  }

  /** The kernel takes the device away from its users, and has destroyed its objects. */
  public void lose() {
    lost = true;
    remove();
  }

  public boolean isLost() {
    return lost;
  }

  /** Raises an event of a port on all contexts. */
  public void portEvent(int type, SoftPort port) {
    contexts.forEach(context -> context.events.add(type, port.number));
  }
}
