package dev.verbena.soft.cm;

import dev.verbena.Errno;
import dev.verbena.raw.rdma_h;
import dev.verbena.soft.device.CallFailure;
import dev.verbena.soft.device.SoftPort;
import dev.verbena.soft.engine.Timer;
import dev.verbena.soft.wire.CmDatagram;
import dev.verbena.soft.wire.CmMessage.Path;
import dev.verbena.soft.wire.CmMessage.SidrRep;
import dev.verbena.soft.wire.CmMessage.SidrReq;
import dev.verbena.soft.wire.Gids;

/**
 * One end of the look-up of a datagram service: service ID resolution (SIDR REQ and SIDR REP) in
 * the kernel's communication manager. Used under the network's lock.
 */
final class CmLookup {
  /** The number of the request; of the end that answers, the peer's. */
  final int id;

  private final CmAgent agent;
  private final CmId owner;
  private final SoftPort port;
  private final Path path;
  private final CmDatagram request;
  private final Timer timer;
  private final boolean isActive;
  private boolean isOver;
  private int triesLeft = CmTimers.RETRIES;

  private CmLookup(
      CmAgent agent, CmId owner, SoftPort port, Path path, CmDatagram request, boolean isActive) {
    this.agent = agent;
    this.owner = owner;
    this.port = port;
    this.path = path;
    this.request = request;
    this.id = ((SidrReq) request.message()).id();
    this.isActive = isActive;
    this.timer = new Timer(agent.engine.timers(), this::overdue);
  }

  /** Creates the active end, and sends a SIDR REQ. */
  static CmLookup active(
      CmAgent agent, CmId owner, SoftPort port, Path path, long service, byte[] data) {
    SidrReq message = new SidrReq(agent.newId(), service, data);
    CmDatagram request = new CmDatagram(agent.newTransaction(), 0, message);
    CmLookup lookup = new CmLookup(agent, owner, port, path, request, true);
    agent.add(lookup);
    lookup.send();
    return lookup;
  }

  /** Creates the passive end, for a received SIDR REQ. */
  static CmLookup passive(CmAgent agent, CmId owner, SoftPort port, Path path, CmDatagram request) {
    return new CmLookup(agent, owner, port, path, request, false);
  }

  Path path() {
    return path;
  }

  /** The address of the other end. */
  Gids peer() {
    return path.destination();
  }

  private void send() {
    agent.send(port, path, request);
    timer.start(agent.engine.now() + CmTimers.nanos(agent.times().response()));
  }

  /** Sends the request again. */
  private void overdue() {
    if (triesLeft-- > 0) {
      send();
    } else {
      finish();
      owner.connectionEvent(rdma_h.RDMA_CM_EVENT_UNREACHABLE(), -Errno.ETIMEDOUT, CmEvent.NOTHING);
    }
  }

  /** Sends the answer. */
  void answer(int status, int queuePair, int queueKey, byte[] data) {
    CallFailure.invalidIf(isActive || isOver, "no request waits for an answer");
    long service = ((SidrReq) request.message()).service();
    SidrRep answer = new SidrRep(id, status, queuePair, service, queueKey, data);
    agent.send(port, path, new CmDatagram(request.transaction(), 0, answer));
    finish();
  }

  void received(SidrRep answer) {
    finish();
    boolean found = answer.status() == 0;
    owner.connectionEvent(
        found ? rdma_h.RDMA_CM_EVENT_ESTABLISHED() : rdma_h.RDMA_CM_EVENT_UNREACHABLE(),
        answer.status(),
        found
            ? new CmEvent.Service(answer.data(), port, path, answer.queuePair(), answer.queueKey())
            : CmEvent.Service.of(answer.data()));
  }

  /** Ends the look-up: a request that was not answered is rejected. */
  void destroy(int status) {
    if (!isActive && !isOver) {
      answer(status, 0, 0, new byte[SidrRep.DATA]);
    }
    finish();
  }

  private void finish() {
    isOver = true;
    timer.stop();
    agent.remove(this);
  }
}
