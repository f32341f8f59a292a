package dev.verbena.soft.transport;

import dev.verbena.raw.rdma_h;
import dev.verbena.soft.device.SoftDevice;
import dev.verbena.soft.wire.Packet;
import dev.verbena.soft.wire.Syndrome;
import java.util.ArrayDeque;
import java.util.LinkedHashMap;
import java.util.Map;

/**
 * A DC target: a responder for each initiator that has sent a request with the access key. When
 * there are too many, one that was idle for long enough makes room for another; if there is none,
 * the requests of a new initiator are dropped, which it repeats.
 */
final class DcTarget implements TransportService {
  /** The most initiators. */
  private static final int MOST = 4096;

  /** Longer than an initiator with the usual time-outs repeats a request. */
  private static final long IDLE_NANOS = 20_000_000_000L;

  /** How often a target without a receive request looks for those of silent initiators. */
  private static final long LOOK_NANOS = 1_000_000_000;

  /** How many responders send before other queue pairs have their turn. */
  private static final int BURST = 32;

  /**
   * The responder of a DC target for one initiator: that of a reliable connection which begins anew
   * with each session of the initiator. If it refuses a request, the session has failed, not the
   * target: what still arrives of it gets the same answer.
   */
  private final class DcResponder extends Responder {
    private static final int HOP_LIMIT = 64;

    private final PacketSource initiator;

    /** The address of the target that the initiator has sent to. */
    private long ownGidHigh;

    private long ownGidLow;

    private int flowLabel;
    private int trafficClass;
    private int serviceLevel;
    private long session;
    private boolean failed;
    private int lastPsn;
    private int lastSyndrome;
    private long lastArrival;

    /**
     * Whether a packet of an earlier session was dropped since the last one that was not, and when.
     */
    private boolean hasDropped;

    private long firstDropped;

    /** Whether the target lets it send. */
    boolean isActive;

    DcResponder(PacketSource initiator) {
      super(queuePair);
      this.initiator = initiator;
      modified(rdma_h.IBV_QP_MAX_DEST_RD_ATOMIC());
    }

    /** Begins a session, or goes on with one that was forgotten, with any packet of it. */
    private void begin(Packet first) {
      begin(first.oldestPsn);
      session = first.session;
      failed = false;
      ownGidHigh = first.destinationGidHigh;
      ownGidLow = first.destinationGidLow;
      flowLabel = first.flowLabel;
      trafficClass = first.trafficClass;
      serviceLevel = first.serviceLevel;
    }

    @Override
    public void receive(Packet packet) {
      long now = queuePair.device.engine.now();
      if (packet.session - session < 0 && !isRepeated(now)) {
        return; // The initiator has all answers of that session, or has given up.
      }
      if (packet.session != session) {
        begin(packet);
      }
      hasDropped = false;
      lastArrival = now;
      if (failed) {
        super.acknowledge(lastPsn, lastSyndrome);
      } else {
        super.receive(packet);
      }
    }

    /**
     * Whether nothing but earlier sessions has arrived for long. One packet does not tell: it may
     * have waited while this process stood still.
     */
    private boolean isRepeated(long now) {
      if (!hasDropped) {
        hasDropped = true;
        firstDropped = now;
      }
      return now - firstDropped > IDLE_NANOS;
    }

    @Override
    void receiverNotReady() {
      endSilentMessages();
      super.receiverNotReady();
    }

    /** Answers a request with a wrong access key, which all requests of its session have. */
    void refuse(Packet packet) {
      begin(packet);
      acknowledge(packet.oldestPsn, Syndrome.NAK_REMOTE_ACCESS);
    }

    /** Whether the initiator was silent for so long that nothing of its session is under way. */
    boolean isIdle() {
      return queuePair.device.engine.now() - lastArrival > IDLE_NANOS;
    }

    @Override
    void acknowledge(int psn, int syndrome) {
      lastPsn = psn;
      lastSyndrome = syndrome;
      super.acknowledge(psn, syndrome);
    }

    @Override
    void end(int event) {
      failed = true; // The driver of mlx5 reports no event of a target.
      stop();
    }

    @Override
    void transmit(Packet packet) {
      initiator.address(packet);
      packet.sourceNumber = queuePair.number;
      packet.session = session;
      packet.sourceGidHigh = ownGidHigh;
      packet.sourceGidLow = ownGidLow;
      packet.flowLabel = flowLabel;
      packet.hopLimit = HOP_LIMIT;
      packet.trafficClass = trafficClass;
      packet.serviceLevel = serviceLevel;
      queuePair.device.fabric.send(queuePair.path.port(), packet);
    }
  }

  private final SoftQueuePair queuePair;
  private final PacketSource wanted = new PacketSource();

  /** In the order of their last packets. */
  private final Map<PacketSource, DcResponder> responders = new LinkedHashMap<>(16, 0.75f, true);

  /** Those that may have something to send. */
  private final ArrayDeque<DcResponder> active = new ArrayDeque<>();

  /** An initiator with a wrong access key, and what answers it. */
  private final PacketSource stranger = new PacketSource();

  private final DcResponder refusing;
  private long lastLook;

  DcTarget(SoftQueuePair queuePair) {
    this.queuePair = queuePair;
    queuePair.attributes.putByte("max_dest_rd_atomic", SoftDevice.MAX_DC_READS);
    refusing = new DcResponder(stranger);
    lastLook = queuePair.device.engine.now();
  }

  /** Responders are created in the last state of a target, and take over its attributes. */
  @Override
  public void modified(int mask) {}

  @Override
  public void receive(Packet packet) {
    if (packet.accessKey != queuePair.choices.accessKey()) {
      stranger.of(packet);
      refusing.refuse(packet);
      return;
    }
    DcResponder responder = responders.get(wanted.of(packet));
    if (responder == null) {
      if (!hasRoom()) {
        queuePair.device.counters.droppedPackets++;
        return;
      }
      PacketSource initiator = new PacketSource().of(packet);
      responder = new DcResponder(initiator);
      responder.begin(packet);
      responders.put(initiator, responder);
    }
    responder.receive(packet);
    if (!responder.isActive) {
      responder.isActive = true;
      active.add(responder);
    }
  }

  private boolean hasRoom() {
    if (responders.size() < MOST) {
      return true;
    }
    Map.Entry<PacketSource, DcResponder> oldest = responders.entrySet().iterator().next();
    if (!oldest.getValue().isIdle()) {
      return false;
    }
    responders.remove(oldest.getKey());
    oldest.getValue().stop();
    return true;
  }

  /** Takes receive requests back from initiators that are silent within a message. */
  private void endSilentMessages() {
    long now = queuePair.device.engine.now();
    if (now - lastLook > LOOK_NANOS) {
      lastLook = now;
      responders.values().stream().filter(DcResponder::isIdle).forEach(DcResponder::endMessage);
    }
  }

  @Override
  public boolean send() {
    for (int i = Math.min(BURST, active.size()); i > 0; i--) {
      DcResponder responder = active.remove();
      responder.isActive = responder.send();
      if (responder.isActive) {
        active.add(responder);
      }
    }
    return !active.isEmpty();
  }

  @Override
  public void stop() {
    responders.values().forEach(DcResponder::stop);
    responders.clear();
    active.clear();
  }
}
