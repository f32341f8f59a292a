package dev.verbena.verbs;

import dev.verbena.address.AddressVector;
import dev.verbena.address.Gid;
import dev.verbena.address.GidEntry;
import dev.verbena.address.GlobalRoute;
import dev.verbena.address.Mtu;
import dev.verbena.address.QueuePairAddress;
import dev.verbena.attributes.AtomicScope;
import dev.verbena.attributes.DeviceAttributes;
import dev.verbena.attributes.PortState;
import dev.verbena.internal.Ranges;
import dev.verbena.internal.rules.InitialPsn;
import dev.verbena.internal.rules.StateTable;
import dev.verbena.values.AccessFlag;
import dev.verbena.values.AckTimeout;
import dev.verbena.values.CompletionStatus;
import dev.verbena.values.QueuePairAttribute;
import dev.verbena.values.QueuePairAttributes;
import dev.verbena.values.QueuePairState;
import dev.verbena.values.QueuePairType;
import dev.verbena.values.RnrTimer;
import java.net.InetAddress;
import java.util.EnumSet;
import java.util.HashSet;
import java.util.Objects;
import java.util.Set;

/**
 * The settings of the state transitions of a queue pair from RESET to INIT, RTR and RTS, each with
 * all attributes that its transport service requires.
 *
 * <p>Every setting has a default: the first active port, the GID that {@link GidChoice} prefers,
 * the largest MTU and number of RDMA reads that both ends support, and common values for timeouts
 * and retry counts. The settings belong to the queue pair and are kept when it is reset. What was
 * not set is then chosen again: the port, the GID, which may have changed meanwhile, and the PSN,
 * since packets of the earlier connection may still be on their way. So both sides exchange their
 * addresses again after a reset.
 *
 * {@snippet :
 * queuePair
 *     .setup()
 *     .port(1)
 *     .ackTimeout(AckTimeout.atLeast(Duration.ofMillis(30)))
 *     .retryCount(3)
 *     .connect(remote);
 * }
 *
 * <p>{@link QueuePair#modify} performs one transition with each of its attributes. See {@code
 * ibv_modify_qp(3)}.
 */
public final class QueuePairSetup {
  /** More would use memory of the device without effect: no path has more reads outstanding. */
  private static final int MAX_READS = 16;

  /** Without the most significant bit, which needs privileges. */
  private static final int QUEUE_KEY = 0x1111_1111;

  private final QueuePair queuePair;
  private Integer portNumber;
  private Port port;
  private Integer gidIndex;
  private InetAddress source;
  private InetAddress peer;
  private GidChoice choice;
  private Mtu mtu;
  private Set<AccessFlag> access;
  private Integer givenPsn;
  private int psn = InitialPsn.next();
  private int queueKey = QUEUE_KEY;
  private int pkeyIndex;
  private int serviceLevel;
  private int trafficClass;
  private int flowLabel;
  private int hopLimit = GlobalRoute.DEFAULT_HOP_LIMIT;
  private AckTimeout ackTimeout = AckTimeout.DEFAULT;
  private int retryCount = QueuePairAttributes.RETRY_COUNT;
  private int rnrRetryCount = QueuePairAttributes.RNR_RETRY_COUNT;
  private RnrTimer minRnrTimer = RnrTimer.DEFAULT;
  private int reads = -1;

  QueuePairSetup(QueuePair queuePair) {
    this.queuePair = queuePair;
  }

  private Context context() {
    return queuePair.context();
  }

  /**
   * Sets the local port, active or not.
   *
   * @param number the port number, 1 for the first port
   * @return this
   */
  public QueuePairSetup port(int number) {
    this.port = context().port(number);
    this.portNumber = number;
    this.choice = null;
    return this;
  }

  /**
   * Sets the local GID by its index, instead of {@link GidChoice}.
   *
   * @param index an index of the GID table of the port, 0 to 255
   * @return this
   */
  public QueuePairSetup gid(int index) {
    this.gidIndex = Ranges.bits(index, Byte.SIZE, "a GID index");
    this.choice = null;
    return this;
  }

  /**
   * Sets the local GID by its IP address.
   *
   * @param address an address of the network interface of the port
   * @return this
   */
  public QueuePairSetup source(InetAddress address) {
    this.source = Objects.requireNonNull(address, "address");
    this.gidIndex = null;
    this.choice = null;
    return this;
  }

  /**
   * Sets an IP address of the remote side, so that the local GID is that of the address which the
   * kernel would send from: with several VLANs or subnets on a port, packets from the other GIDs do
   * not reach it. A GID or a source address that is set takes precedence.
   *
   * {@snippet :
   * queuePair.setup().toward(socket.getInetAddress()); // the TCP connection for the addresses
   * out.write(queuePair.localAddress().toBytes());
   * }
   *
   * @param address an address of the remote host, in the subnet of its RDMA device
   * @return this
   */
  public QueuePairSetup toward(InetAddress address) {
    this.peer = Objects.requireNonNull(address, "address");
    this.choice = null;
    return this;
  }

  /**
   * Sets an upper limit of the path MTU; the ports at both ends limit it in any case.
   *
   * @param limit the MTU
   * @return this
   */
  public QueuePairSetup mtu(Mtu limit) {
    this.mtu = Objects.requireNonNull(limit, "limit");
    return this;
  }

  /**
   * Sets the remote operations that the queue pair allows. The memory region must allow them, too.
   * The default is all RDMA writes, reads and atomics that the transport service and the device
   * support, as with RDMA CM: the access rights and the remote key of each region decide what the
   * remote side can do, and regions allow none unless asked. A queue pair that only sends messages
   * needs none: {@code access()}.
   *
   * @param flags REMOTE_WRITE, REMOTE_READ, REMOTE_ATOMIC, or the flush flags; or none
   * @return this
   */
  public QueuePairSetup access(AccessFlag... flags) {
    this.access = Set.of(flags);
    return this;
  }

  /**
   * Sets the packet sequence number of the first packet to be sent. The default is random, and
   * another one after each {@linkplain QueuePair#reset reset}.
   *
   * @param number 24 bits
   * @return this
   */
  public QueuePairSetup psn(int number) {
    this.psn = Ranges.bits(number, 24, "a PSN");
    this.givenPsn = number;
    return this;
  }

  /**
   * Sets the Q_Key that datagrams must carry to be received. The default is 0x11111111, as in the
   * programs of rdma-core and in its tests: it keeps datagrams for others away, but is no
   * protection: each packet contains it. All receivers of a multicast group must have the same.
   *
   * @param value the Q_Key; one with the most significant bit set needs privileges
   * @return this
   */
  public QueuePairSetup queueKey(int value) {
    this.queueKey = value;
    return this;
  }

  /**
   * Sets the partition. The default is index 0.
   *
   * @param index an index of the P_Key table of the port
   * @return this
   */
  public QueuePairSetup pkeyIndex(int index) {
    this.pkeyIndex = Ranges.bits(index, Short.SIZE, "a P_Key index");
    return this;
  }

  /**
   * Sets the service level. The default is 0.
   *
   * @param level 0 to 15; on Ethernet the VLAN priority
   * @return this
   */
  public QueuePairSetup serviceLevel(int level) {
    this.serviceLevel = Ranges.bits(level, 4, "a service level");
    return this;
  }

  /**
   * Sets the traffic class of the global routing header (GRH). The default is 0.
   *
   * @param value 0 to 255; with RoCE v2 the DSCP and ECN bits of the IP header
   * @return this
   */
  public QueuePairSetup trafficClass(int value) {
    this.trafficClass = Ranges.bits(value, Byte.SIZE, "a traffic class");
    return this;
  }

  /**
   * Sets the flow label of the global routing header (GRH). Routers keep packets of one flow label
   * on one path. The default is 0.
   *
   * @param label 20 bits
   * @return this
   */
  public QueuePairSetup flowLabel(int label) {
    this.flowLabel = Ranges.bits(label, 20, "a flow label");
    return this;
  }

  /**
   * Sets the hop limit of the global routing header (GRH). The default is 64.
   *
   * @param limit the maximum number of routers on the path, 0 to 255
   * @return this
   */
  public QueuePairSetup hopLimit(int limit) {
    this.hopLimit = Ranges.bits(limit, Byte.SIZE, "a hop limit");
    return this;
  }

  /**
   * Sets the local ACK timeout, after which a packet is retransmitted. The default is 67 ms.
   *
   * @param timeout the timeout
   * @return this
   */
  public QueuePairSetup ackTimeout(AckTimeout timeout) {
    this.ackTimeout = Objects.requireNonNull(timeout, "timeout");
    return this;
  }

  /**
   * Sets the retry count: how often a packet is retransmitted before the queue pair fails with
   * {@link CompletionStatus#RETRY_EXC_ERR}. The default is 6. Soft-RoCE treats 7 as unlimited,
   * contrary to the specification, and then never detects that a peer is gone.
   *
   * @param count 0 to 7
   * @return this
   */
  public QueuePairSetup retryCount(int count) {
    this.retryCount = Ranges.bits(count, 3, "a retry count");
    return this;
  }

  /**
   * Sets the RNR retry count: how often a message is retransmitted for which the remote side had no
   * receive request posted, before the queue pair fails with {@link
   * CompletionStatus#RNR_RETRY_EXC_ERR}. The default is 7, which the specification defines as
   * unlimited: a send to a peer that never posts a receive request then never completes.
   *
   * @param count 0 to 6, or 7 for unlimited
   * @return this
   */
  public QueuePairSetup rnrRetryCount(int count) {
    this.rnrRetryCount = Ranges.bits(count, 3, "an RNR retry count");
    return this;
  }

  /**
   * Sets the minimum RNR NAK timer, which the remote side observes before it retransmits a message
   * for which no receive request was posted. The default is 0.64 ms.
   *
   * @param timer the timer
   * @return this
   */
  public QueuePairSetup minRnrTimer(RnrTimer timer) {
    this.minRnrTimer = Objects.requireNonNull(timer, "timer");
    return this;
  }

  /**
   * Sets an upper limit of the number of outstanding RDMA reads and atomics in either direction.
   * The default is 16 or the device's maximum.
   *
   * @param limit 0 to 255
   * @return this
   */
  public QueuePairSetup reads(int limit) {
    this.reads = Ranges.bits(limit, Byte.SIZE, "a number of RDMA reads");
    return this;
  }

  /**
   * Returns the local port.
   *
   * @return the port that was set, or the first active port
   * @throws IllegalStateException if no port was set and none is active
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
                          "no port of "
                              + context().device()
                              + " is active; setup().port(number) uses a port that is not"));
    }
    return port;
  }

  /**
   * {@return the local GID or LID, and the reason for the choice}
   *
   * @throws IllegalStateException if the GID table of the port has no suitable entry
   */
  public GidChoice choice() {
    if (choice == null) {
      choice =
          gidIndex == null
              ? port().chooseGid(source, peer)
              : new GidChoice(
                  port().gidEntry(gidIndex), port().attributes().lid(), "set by its index");
    }
    return choice;
  }

  /**
   * {@return the address of the queue pair, which the remote side needs to connect to it; the same
   * until a setting is changed or the queue pair is reset}
   */
  public QueuePairAddress address() {
    if (queuePair.type() == QueuePairType.DC_TARGET && queuePair.number() == 0) {
      throw new IllegalStateException(
          queuePair + " has no number before state RTR: call activate() first");
    }
    return QueuePairAddress.of(queuePair.number(), choice().gid())
        .withGidType(choice().entry().type())
        .withPsn(psn)
        .withLid(choice().lid())
        .withMtu(localMtu())
        .withReads(readsAsTarget(context().deviceAttributes()))
        .withQueueKey(queuePair.type().isAddressed() ? queueKey : 0);
  }

  /** The queue pair was reset: chooses again what was not set. */
  void renew() {
    psn = givenPsn == null ? InitialPsn.next() : givenPsn;
    choice = null;
    port = portNumber == null ? null : port;
  }

  private Mtu localMtu() {
    Mtu active = port().attributes().activeMtu();
    return mtu == null ? active : mtu.min(active);
  }

  private int readsAsTarget(DeviceAttributes device) {
    return Math.min(device.maxReadsAsTarget(), reads < 0 ? MAX_READS : reads);
  }

  private int readsAsInitiator(DeviceAttributes device) {
    return Math.min(device.maxReadsAsInitiator(), reads < 0 ? MAX_READS : reads);
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

  /**
   * {@return the path to a remote queue pair, as the link layer and the subnets require it: for the
   * address handle of a queue pair type whose requests name their destination}
   *
   * @param remote the {@linkplain QueuePair#localAddress address} of the remote queue pair
   * @throws IllegalArgumentException if the GID of the remote queue pair cannot be reached from the
   *     local one
   */
  public AddressVector pathTo(QueuePairAddress remote) {
    GidChoice local = choice();
    local
        .mismatch(remote.gid(), remote.gidType())
        .ifPresent(
            fault -> {
              throw new IllegalArgumentException(fault);
            });
    if (local.isGlobal()) {
      requireRoute(local.entry(), remote.gid());
    }
    return path(remote.gid(), remote.lid());
  }

  private AddressVector path(Gid gid, int lid) {
    GidChoice local = choice();
    int number = port().number();
    if (!local.isGlobal() && !port().attributes().isGlobalRouteRequired()) {
      return AddressVector.local(number, lid).withServiceLevel(serviceLevel);
    }
    GlobalRoute route =
        new GlobalRoute(gid, local.index())
            .withFlowLabel(flowLabel)
            .withHopLimit(hopLimit)
            .withTrafficClass(trafficClass);
    return AddressVector.global(number, route).withLid(lid).withServiceLevel(serviceLevel);
  }

  /** Throws if packets to the remote side leave by the network interface of another local GID. */
  private void requireRoute(GidEntry local, Gid remote) {
    if (gidIndex != null || source != null || peer != null || remote.isLinkLocal()) {
      return;
    }
    GidEntry routed = port().chooseGidToward(remote.toInetAddress()).entry();
    if (routed.interfaceIndex() != local.interfaceIndex()) {
      throw new IllegalArgumentException(
          ("packets to the remote GID %s leave by another network interface than that of %s: call"
                  + " setup().toward(address) before localAddress(), with an address of the remote"
                  + " host; it chooses %s")
              .formatted(remote, local, routed));
    }
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
        .readsAsInitiator(Math.min(readsAsInitiator(device), remote.reads()))
        .minRnrTimer(minRnrTimer)
        .ackTimeout(ackTimeout)
        .retryCount(retryCount)
        .rnrRetryCount(rnrRetryCount);
  }

  private QueuePairAttributes.Builder initiator() {
    return local()
        .pathMtu(localMtu())
        .readsAsInitiator(readsAsInitiator(context().deviceAttributes()))
        .ackTimeout(ackTimeout)
        .retryCount(retryCount)
        .rnrRetryCount(rnrRetryCount);
  }

  /** A target has no peer: of the path, the device uses the local GID, and how it answers. */
  private QueuePairAttributes.Builder target() {
    return local()
        .pathMtu(localMtu())
        .path(path(choice().gid(), choice().lid()))
        .minRnrTimer(minRnrTimer);
  }

  /**
   * Transitions the queue pair from RESET to INIT, so that receive requests can be posted before
   * the remote side sends. {@link #connect} and {@link #activate} continue from there.
   */
  public void init() {
    step(local(), QueuePairState.RESET, QueuePairState.INIT);
  }

  /**
   * Connects the queue pair: transitions it from RESET or INIT to RTS.
   *
   * @param remote the {@linkplain QueuePair#localAddress address} of the remote queue pair
   * @throws IllegalStateException if the queue pair is in another state, or is not of a connected
   *     type
   */
  public void connect(QueuePairAddress remote) {
    Objects.requireNonNull(remote, "remote");
    if (!queuePair.type().isConnected()) {
      throw new IllegalStateException(
          queuePair.type() + " queue pairs have no single peer: use activate()");
    }
    toReadyToSend(connected(remote));
  }

  /**
   * Activates a queue pair of an unconnected type (UD, SRD, RAW_PACKET, DC_INITIATOR): transitions
   * it from RESET or INIT to RTS; a DC_TARGET to RTR, its last state, where it has its number.
   *
   * @throws IllegalStateException if the queue pair is in another state, or is of a connected type
   */
  public void activate() {
    if (queuePair.type().isConnected()) {
      throw new IllegalStateException(
          queuePair.type() + " queue pairs are connected to a peer: use connect(remote)");
    }
    switch (queuePair.type()) {
      case DC_INITIATOR -> toReadyToSend(initiator());
      case DC_TARGET -> toReadyToReceive(target());
      default -> toReadyToSend(local().rnrRetryCount(rnrRetryCount));
    }
  }

  private void toReadyToSend(QueuePairAttributes.Builder attributes) {
    toReadyToReceive(attributes);
    step(attributes, QueuePairState.RTR, QueuePairState.RTS);
  }

  private void toReadyToReceive(QueuePairAttributes.Builder attributes) {
    QueuePairState from = queuePair.state();
    switch (from) {
      case RESET -> step(attributes, QueuePairState.RESET, QueuePairState.INIT);
      case INIT -> {}
      default ->
          throw new IllegalStateException(
              queuePair
                  + " is in state "
                  + from
                  + (queuePair.type() == QueuePairType.DC_TARGET
                      ? ", its last one"
                      : ": reset() it first"));
    }
    step(attributes, QueuePairState.INIT, QueuePairState.RTR);
  }

  /**
   * One state transition, with those of the attributes that it requires. For SRD the RNR retry
   * count is an option, which not all devices have: only a limit is set.
   */
  private void step(
      QueuePairAttributes.Builder attributes, QueuePairState from, QueuePairState to) {
    Set<QueuePairAttribute> needed = new HashSet<>(StateTable.required(queuePair.type(), from, to));
    needed.add(QueuePairAttribute.STATE);
    if (queuePair.type() == QueuePairType.SRD
        && to == QueuePairState.RTS
        && rnrRetryCount != QueuePairAttributes.RNR_RETRY_COUNT) {
      needed.add(QueuePairAttribute.RNR_RETRY);
    }
    queuePair.modify(attributes.state(to).only(needed));
  }
}
