package dev.verbena.verbs;

import java.net.InetAddress;
import java.security.SecureRandom;
import java.util.EnumSet;
import java.util.HashSet;
import java.util.Objects;
import java.util.Optional;
import java.util.Set;

/**
 * How a queue pair is brought into use: from RESET over INIT and RTR to RTS, each move with all the
 * attributes that its transport service needs.
 *
 * <p>Everything has a default: the first active port, the GID that {@link GidChoice} prefers, the
 * MTU and the numbers of reads that both ends can do, and the times and counts that InfiniBand's
 * manuals recommend. Whatever is set here is used instead. The settings belong to the queue pair
 * and stay when it is reset.
 */
public final class BringUp {
  /** 67 ms: 4.096 microseconds times 2 to the power of 14. */
  static final int TIMEOUT = 14;

  static final int RETRY_COUNT = 7;

  /** For ever. */
  static final int RNR_RETRY = 7;

  /** 0.64 ms. */
  static final int MIN_RNR_TIMER = 12;

  /** More would cost memory on the device for nothing: no path has so many reads under way. */
  private static final int MAX_READS = 16;

  /** Without the upper bit, which needs privileges. */
  private static final int QUEUE_KEY = 0x1111_1111;

  private static final SecureRandom RANDOM = new SecureRandom();

  private final QueuePair queuePair;
  private Port port;
  private Integer gidIndex;
  private InetAddress source;
  private GidChoice choice;
  private Mtu mtu;
  private Set<AccessFlag> access;
  private int psn = RANDOM.nextInt(1 << 24);
  private int queueKey = QUEUE_KEY;
  private int pkeyIndex;
  private int serviceLevel;
  private int trafficClass;
  private int flowLabel;
  private int hopLimit = GlobalRoute.DEFAULT_HOP_LIMIT;
  private int timeout = TIMEOUT;
  private int retryCount = RETRY_COUNT;
  private int rnrRetry = RNR_RETRY;
  private int minRnrTimer = MIN_RNR_TIMER;
  private int reads = -1;

  BringUp(QueuePair queuePair) {
    this.queuePair = queuePair;
  }

  private Context context() {
    return queuePair.context();
  }

  /**
   * Chooses the port, active or not.
   *
   * @param number 1 for the first one
   * @return this
   */
  public BringUp port(int number) {
    this.port = context().port(number);
    this.choice = null;
    return this;
  }

  /**
   * Chooses the GID, instead of {@link GidChoice}.
   *
   * @param index its place in the port's table
   * @return this
   */
  public BringUp gid(int index) {
    this.gidIndex = Ranges.bits(index, Byte.SIZE, "a GID index");
    this.choice = null;
    return this;
  }

  /**
   * Chooses the GID of an IP address of this machine.
   *
   * @param address an address of the network interface that the port belongs to
   * @return this
   */
  public BringUp source(InetAddress address) {
    this.source = Objects.requireNonNull(address, "address");
    this.gidIndex = null;
    this.choice = null;
    return this;
  }

  /**
   * Limits the size of packets, which the ports at both ends limit in any case.
   *
   * @param limit the MTU
   * @return this
   */
  public BringUp mtu(Mtu limit) {
    this.mtu = Objects.requireNonNull(limit, "limit");
    return this;
  }

  /**
   * Says what the peer may do, where memory regions allow it as well. By default that is all that
   * transport service and device can do of writes, reads and atomics.
   *
   * @param flags REMOTE_WRITE, REMOTE_READ, REMOTE_ATOMIC, or the flushes; or none
   * @return this
   */
  public BringUp access(AccessFlag... flags) {
    this.access = Set.of(flags);
    return this;
  }

  /**
   * Chooses the number of the first packet, by default a random one.
   *
   * @param number 24 bits
   * @return this
   */
  public BringUp psn(int number) {
    this.psn = Ranges.bits(number, 24, "a PSN");
    return this;
  }

  /**
   * Chooses the key that datagrams must carry, by default 0x11111111.
   *
   * @param key keys with the upper bit set need privileges
   * @return this
   */
  public BringUp queueKey(int key) {
    this.queueKey = key;
    return this;
  }

  /**
   * Chooses the partition, by default the first.
   *
   * @param index its place in the port's table
   * @return this
   */
  public BringUp pkeyIndex(int index) {
    this.pkeyIndex = Ranges.bits(index, Short.SIZE, "a P_Key index");
    return this;
  }

  /**
   * Chooses the service level, by default 0.
   *
   * @param level 0 to 15; on Ethernet the VLAN priority
   * @return this
   */
  public BringUp serviceLevel(int level) {
    this.serviceLevel = Ranges.bits(level, 4, "a service level");
    return this;
  }

  /**
   * Chooses what the IP header (GRH) of packets says, by default 0, 0 and 64.
   *
   * @param trafficClass priority: on RoCE the DSCP and ECN bits
   * @param flowLabel 20 bits by which routers keep packets of a flow on one path
   * @param hopLimit how many routers a packet may pass
   * @return this
   */
  public BringUp route(int trafficClass, int flowLabel, int hopLimit) {
    this.trafficClass = Ranges.bits(trafficClass, Byte.SIZE, "a traffic class");
    this.flowLabel = Ranges.bits(flowLabel, 20, "a flow label");
    this.hopLimit = Ranges.bits(hopLimit, Byte.SIZE, "a hop limit");
    return this;
  }

  /**
   * Chooses when a reliable connection gives up, by default after 7 times about 67 ms without an
   * acknowledgement, and never for want of a receive at the peer.
   *
   * @param timeout how long to wait for an acknowledgement: n, for 4.096 microseconds times 2 to
   *     the power of n; 0 for ever
   * @param retries how often to send again what is not acknowledged: 0 to 7
   * @param rnrRetries how often to send again what the peer had no receive for: 0 to 6, or 7 for
   *     ever
   * @return this
   */
  public BringUp retries(int timeout, int retries, int rnrRetries) {
    this.timeout = Ranges.bits(timeout, 5, "a timeout");
    this.retryCount = Ranges.bits(retries, 3, "a retry count");
    this.rnrRetry = Ranges.bits(rnrRetries, 3, "an RNR retry count");
    return this;
  }

  /**
   * Chooses how long the peer waits when there is no receive for what it sent, by default 0.64 ms.
   *
   * @param timer InfiniBand's code, 0 to 31
   * @return this
   */
  public BringUp minRnrTimer(int timer) {
    this.minRnrTimer = Ranges.bits(timer, 5, "an RNR timer");
    return this;
  }

  /**
   * Limits the RDMA reads and atomics that are under way in either direction, by default to 16 or
   * what the device can do.
   *
   * @param limit 0 to 255
   * @return this
   */
  public BringUp reads(int limit) {
    this.reads = Ranges.bits(limit, Byte.SIZE, "a number of reads");
    return this;
  }

  /**
   * The port that is used.
   *
   * @return the one that was set, or the first active one
   * @throws IllegalStateException if none was set and none is active
   */
  public Port port() {
    if (port == null) {
      port =
          context().ports().stream()
              .filter(candidate -> candidate.attributes().state() == PortState.ACTIVE)
              .findFirst()
              .orElseThrow(
                  () ->
                      new IllegalStateException(
                          "no port of " + context().device() + " is active; choose one to try"));
    }
    return port;
  }

  /**
   * By which GID or LID the peer is told to reach the queue pair, and why.
   *
   * @return the choice
   * @throws IllegalStateException if the port has none that fits
   */
  public GidChoice choice() {
    if (choice == null) {
      choice =
          gidIndex == null
              ? GidChoice.of(port(), source)
              : new GidChoice(
                  port().gidEntry(gidIndex), port().attributes().lid(), "chosen by its index");
    }
    return choice;
  }

  /**
   * What the peer must know of the queue pair, to be handed to it.
   *
   * @return the address; the same one until a setting is changed
   */
  public QueuePairAddress address() {
    return new QueuePairAddress(
        queuePair.number(),
        psn,
        choice().lid(),
        choice().gid(),
        localMtu(),
        readsAsTarget(context().deviceAttributes()),
        queuePair.type() == QueuePairType.UD ? queueKey : 0);
  }

  private Mtu localMtu() {
    Mtu active = port().attributes().activeMtu();
    return mtu == null ? active : mtu.min(active);
  }

  private int readsAsTarget(DeviceAttributes device) {
    return Math.min(device.maxReadsAsTarget(), reads < 0 ? MAX_READS : reads);
  }

  private int readsAsInitiator(DeviceAttributes device, QueuePairAddress remote) {
    int own = Math.min(device.maxReadsAsInitiator(), reads < 0 ? MAX_READS : reads);
    return Math.min(own, remote.reads());
  }

  private Set<AccessFlag> allowed(DeviceAttributes device) {
    if (access != null) {
      return access;
    }
    EnumSet<AccessFlag> all = EnumSet.of(AccessFlag.REMOTE_WRITE);
    if (queuePair.type() != QueuePairType.UC) {
      all.add(AccessFlag.REMOTE_READ);
      if (device.atomicScope() != AtomicScope.NONE) {
        all.add(AccessFlag.REMOTE_ATOMIC);
      }
    }
    return all;
  }

  /** The path to a peer, as the port's link layer and the peer's subnet require it. */
  AddressVector pathTo(QueuePairAddress remote) {
    GidChoice local = choice();
    boolean sameSubnet = local.gid().subnetPrefix() == remote.gid().subnetPrefix();
    boolean global = local.isGlobal() || !sameSubnet || port().attributes().isGlobalRouteRequired();
    if (local.isGlobal()) {
      GidChoice.mismatch(local.gid(), remote.gid())
          .ifPresent(
              fault -> {
                throw new IllegalArgumentException(
                    fault + "; choose one of the other's family with bringUp().gid(index)");
              });
    }
    Optional<GlobalRoute> route =
        global
            ? Optional.of(
                new GlobalRoute(remote.gid(), local.index(), flowLabel, hopLimit, trafficClass))
            : Optional.empty();
    return new AddressVector(port().number(), route, remote.lid(), serviceLevel, 0, Rate.MAX);
  }

  private QueuePairAttributes.Builder local() {
    return QueuePairAttributes.builder()
        .port(port().number())
        .pkeyIndex(pkeyIndex)
        .queueKey(queueKey)
        .access(allowed(context().deviceAttributes()))
        .sendPsn(psn);
  }

  private QueuePairAttributes.Builder connected(QueuePairAddress remote) {
    DeviceAttributes device = context().deviceAttributes();
    return local()
        .path(pathTo(remote))
        .pathMtu(localMtu().min(remote.mtu()))
        .destination(remote.number())
        .receivePsn(remote.psn())
        .readsAsTarget(readsAsTarget(device))
        .readsAsInitiator(readsAsInitiator(device, remote))
        .minRnrTimer(minRnrTimer)
        .timeout(timeout)
        .retryCount(retryCount)
        .rnrRetry(rnrRetry);
  }

  /**
   * Moves the queue pair from RESET to INIT, so that receives can be posted before a peer sends.
   * {@link #connect} and {@link #activate} go on from there.
   */
  public void init() {
    step(local(), QueuePairState.RESET, QueuePairState.INIT);
  }

  /**
   * Connects the queue pair to a peer: from RESET or INIT to RTS.
   *
   * @param remote the peer's address, as it {@linkplain QueuePair#localAddress told} it
   * @throws IllegalStateException if the queue pair is in another state, or is not for connections
   */
  public void connect(QueuePairAddress remote) {
    Objects.requireNonNull(remote, "remote");
    if (!queuePair.type().isConnected()) {
      throw new IllegalStateException(
          queuePair.type() + " queue pairs are not connected but activated");
    }
    climb(connected(remote));
  }

  /**
   * Brings a queue pair that has no single peer (UD, RAW_PACKET) into use: from RESET or INIT to
   * RTS.
   *
   * @throws IllegalStateException if the queue pair is in another state, or needs a peer
   */
  public void activate() {
    if (queuePair.type().isConnected()) {
      throw new IllegalStateException(
          queuePair.type() + " queue pairs must be connected to a peer");
    }
    climb(local());
  }

  private void climb(QueuePairAttributes.Builder attributes) {
    QueuePairState from = queuePair.state();
    switch (from) {
      case RESET -> step(attributes, QueuePairState.RESET, QueuePairState.INIT);
      case INIT -> {}
      default ->
          throw new IllegalStateException(
              queuePair + " is in state " + from + ": reset it before bringing it up again");
    }
    step(attributes, QueuePairState.INIT, QueuePairState.RTR);
    step(attributes, QueuePairState.RTR, QueuePairState.RTS);
  }

  /** One move, with those of the attributes that it needs. */
  private void step(
      QueuePairAttributes.Builder attributes, QueuePairState from, QueuePairState to) {
    Set<QueuePairAttribute> needed = new HashSet<>(StateTable.required(queuePair.type(), from, to));
    needed.add(QueuePairAttribute.STATE);
    queuePair.modify(attributes.state(to).only(needed));
  }
}
