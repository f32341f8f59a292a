package dev.verbena.soft.transport;

import dev.verbena.internal.foreign.Memory;
import dev.verbena.raw.rdma_h;
import dev.verbena.soft.device.CStruct;
import dev.verbena.soft.device.Delays;
import dev.verbena.soft.device.Fabric;
import dev.verbena.soft.device.SoftDevice;
import dev.verbena.soft.engine.Engine;
import dev.verbena.soft.engine.Timer;
import dev.verbena.soft.wire.Opcode;
import dev.verbena.soft.wire.Packet;
import dev.verbena.soft.wire.PacketPool;
import dev.verbena.soft.wire.Psn;
import dev.verbena.soft.wire.Syndrome;
import org.jspecify.annotations.Nullable;

/**
 * The requester of a reliable connection: sends the packets of the send queue, and completes send
 * requests by what the responder answers. It retransmits by go-back-N: after a NAK or a timeout it
 * continues from the oldest packet that was not acknowledged.
 *
 * <p>Requests pass through three states in the order of the send queue, {@code retired() <= cursor
 * <= started}: those before {@code retired()} are completed; those before {@code started} have
 * PSNs, the last of which is before {@code nextPsn}; the next packet to send is {@code
 * cursorPacket} of the request at {@code cursor}. A retransmission moves the cursor back, never
 * before the request with the PSN {@code unacknowledged}, the oldest one.
 */
class Requester implements TransportService {
  /** How many packets may be unacknowledged. */
  private static final int WINDOW = 128;

  /** How many packets are sent before other queue pairs have their turn. */
  private static final int BURST = 32;

  /** An acknowledgement is asked for at the end of each message and every so many packets. */
  private static final int ACK_INTERVAL = 32;

  private static final long TIMEOUT_UNIT = 4096;
  private static final int RETRY_FOR_EVER = 7;

  private final SoftQueuePair queuePair;
  private final SendQueue sends;
  private final Engine engine;
  private final PacketPool packets;
  private final Fabric fabric;
  private final Timer retransmission;
  private final Timer rnrTimer;

  /** The request to send from next, and its next packet. */
  private long cursor;

  private int cursorPacket;

  /** The PSN of the next new request. */
  private int nextPsn;

  /** The oldest PSN that is not acknowledged. */
  int unacknowledged;

  private int outstandingReads;
  private int retriesLeft;
  private int rnrRetriesLeft;

  /** How long the requester has waited for a receive request of the peer. */
  private long refusedNanos;

  /** Whether responses were requested again, and none has arrived since. */
  private boolean askedAgain;

  /** Why the request at the cursor cannot be sent, or 0. */
  private int localError;

  private int mtu;
  private long timeoutNanos;
  private int retryCount;
  private int rnrRetry;
  private int maxReads;

  Requester(SoftQueuePair queuePair) {
    this.queuePair = queuePair;
    sends = queuePair.sends;
    engine = queuePair.device.engine;
    packets = queuePair.device.packets;
    fabric = queuePair.device.fabric;
    retransmission = new Timer(engine.timers(), this::timedOut);
    rnrTimer = new Timer(engine.timers(), () -> engine.request(queuePair.task));
  }

  @Override
  public void modified(int mask) {
    CStruct attr = queuePair.attributes;
    mtu = 128 << attr.getInt("path_mtu");
    int timeout = attr.getByte("timeout") & 0x1f;
    timeoutNanos = timeout == 0 ? 0 : TIMEOUT_UNIT << timeout;
    if ((mask & rdma_h.IBV_QP_RETRY_CNT()) != 0) {
      retryCount = attr.getByte("retry_cnt") & 7;
      retriesLeft = retryCount;
    }
    if ((mask & rdma_h.IBV_QP_RNR_RETRY()) != 0) {
      rnrRetry = attr.getByte("rnr_retry") & 7;
      rnrRetriesLeft = rnrRetry;
    }
    maxReads = attr.getByte("max_rd_atomic");
    if ((mask & rdma_h.IBV_QP_SQ_PSN()) != 0) {
      nextPsn = attr.getInt("sq_psn") & Psn.MASK;
      unacknowledged = nextPsn;
    }
  }

  @Override
  public void stop() {
    retransmission.stop();
    rnrTimer.stop();
    outstandingReads = 0;
    askedAgain = false;
    localError = 0;
    cursor = sends.posted();
    cursorPacket = 0;
    retriesLeft = retryCount;
    rnrRetriesLeft = rnrRetry;
    refusedNanos = 0;
    unacknowledged = nextPsn;
  }

  // Sending

  @Override
  public boolean send() {
    for (int i = 0; i < BURST; i++) {
      if (!sendNext()) {
        return false;
      }
    }
    return true;
  }

  /** Sends one packet, or carries out one local request; false if that is not possible now. */
  private boolean sendNext() {
    if (cursor == sends.posted() || rnrTimer.isRunning() || !queuePair.canSend()) {
      return false;
    }
    SoftSendRequest request = sends.at(cursor);
    if (localError != 0) {
      failLocally();
      return false;
    }
    if (cursor == sends.started && !begin(request)) {
      return false;
    }
    if (request.finished) {
      advance();
      retire();
      return true;
    }
    int psn = Psn.plus(request.firstPsn, cursorPacket);
    if (!request.hasResponse() && Psn.distance(unacknowledged, psn) >= WINDOW) {
      return false;
    }
    if (!sendPacket(request, psn)) {
      localError = rdma_h.IBV_WC_LOC_PROT_ERR();
      failLocally();
      return false;
    }
    cursorPacket++;
    if (request.hasResponse() || cursorPacket == request.packets) {
      advance();
    }
    if (timeoutNanos != 0 && !retransmission.isRunning()) {
      retransmission.start(engine.now() + timeoutNanos);
    }
    return true;
  }

  private void advance() {
    cursor++;
    cursorPacket = 0;
  }

  /** Begins to execute a request; returns false if it has to wait or cannot be executed. */
  private boolean begin(SoftSendRequest request) {
    if (queuePair.state == rdma_h.IBV_QPS_SQD()
        || (request.has(rdma_h.IBV_SEND_FENCE()) && outstandingReads > 0)) {
      return false;
    }
    localError = request.isLocal() ? LocalOperations.run(queuePair, request) : check(request);
    if (localError != 0) {
      failLocally();
      return false;
    }
    if (!request.isLocal() && !reaches(request)) {
      return false;
    }
    request.firstPsn = nextPsn;
    if (request.isRead() && queuePair.device.delays.isOn()) {
      Packet scratch = packets.take();
      request.elements.fill(queuePair.domain, Delays.PATTERN, scratch);
      packets.release(scratch);
    }
    if (request.isLocal()) {
      request.packets = 0;
      request.finished = true;
    } else {
      if (request.hasResponse()) {
        if (outstandingReads >= Math.max(1, maxReads)) {
          return false;
        }
        outstandingReads++;
      }
      request.packets =
          request.hasResponse() && !request.isRead()
              ? 1
              : Segmentation.count(request.length(), mtu);
      nextPsn = Psn.plus(nextPsn, request.packets);
    }
    sends.started++;
    return true;
  }

  /** Whether the requester is connected to the destination of a request. */
  boolean reaches(SoftSendRequest request) {
    return true;
  }

  /** Validates a request at the requester; returns a completion status, or 0. */
  int check(SoftSendRequest request) {
    long length = request.length();
    if (length > SoftDevice.MAX_MESSAGE) {
      return rdma_h.IBV_WC_LOC_LEN_ERR();
    }
    if ((request.isAtomic()
            || (request.opcode == rdma_h.IBV_WR_ATOMIC_WRITE() && !request.hasAtomicValue))
        && length != Long.BYTES) {
      return rdma_h.IBV_WC_LOC_LEN_ERR();
    }
    boolean known = request.isSend() || request.isWrite() || request.hasResponse();
    if (!known || ((request.isRead() || request.isAtomic()) && maxReads == 0)) {
      return rdma_h.IBV_WC_LOC_QP_OP_ERR();
    }
    int access = request.isRead() || request.isAtomic() ? rdma_h.IBV_ACCESS_LOCAL_WRITE() : 0;
    return request.inlineLength >= 0 || request.elements.isAllowed(queuePair.domain, access)
        ? 0
        : rdma_h.IBV_WC_LOC_PROT_ERR();
  }

  /** Fails the request at the cursor, once those before it are done. */
  private void failLocally() {
    if (sends.retired() == cursor) {
      if (cursor == sends.started) {
        sends.started++;
      }
      fail(localError);
    }
  }

  private boolean sendPacket(SoftSendRequest request, int psn) {
    Packet packet = packets.take();
    packet.reset(0, queuePair.remoteNumber, psn);
    boolean sent;
    if (request.hasResponse()) {
      sent = fillRequest(packet, request);
    } else {
      sent =
          Segmentation.fill(
              packet,
              request,
              cursorPacket,
              mtu,
              queuePair.transportBits,
              queuePair.domain,
              fabric.deliversAtOnce(queuePair.path));
      boolean last = cursorPacket == request.packets - 1;
      packet.ackRequested = last || (cursorPacket + 1) % ACK_INTERVAL == 0;
    }
    if (sent) {
      transmit(packet);
    } else {
      packets.release(packet);
    }
    return sent;
  }

  /** Sends a packet to the responder. */
  void transmit(Packet packet) {
    queuePair.transmit(packet);
  }

  /** Fills a READ request for what is missing, or an atomic, FLUSH or ATOMIC WRITE request. */
  private boolean fillRequest(Packet packet, SoftSendRequest request) {
    packet.ackRequested = true;
    packet.address = request.remoteAddress;
    packet.remoteKey = request.remoteKey;
    packet.sharedQueue = request.sharedQueue;
    packet.psn = Psn.plus(request.firstPsn, request.received);
    if (request.isRead()) {
      long done = (long) request.received * mtu;
      packet.opcode = queuePair.transportBits | Opcode.READ_REQUEST;
      packet.address += done;
      packet.dmaLength = (int) (request.length() - done);
    } else if (request.opcode == rdma_h.IBV_WR_ATOMIC_CMP_AND_SWP()) {
      packet.opcode = queuePair.transportBits | Opcode.COMPARE_SWAP;
      packet.compare = request.compareAdd;
      packet.swapOrAdd = request.swap;
    } else if (request.opcode == rdma_h.IBV_WR_ATOMIC_FETCH_AND_ADD()) {
      packet.opcode = queuePair.transportBits | Opcode.FETCH_ADD;
      packet.swapOrAdd = request.compareAdd;
    } else if (request.opcode == rdma_h.IBV_WR_FLUSH()) {
      packet.opcode = queuePair.transportBits | Opcode.FLUSH;
      packet.flushType = request.flushType;
      packet.flushLevel = request.flushLevel;
      packet.dmaLength = (int) request.bindLength;
    } else {
      packet.opcode = queuePair.transportBits | Opcode.ATOMIC_WRITE;
      packet.dmaLength = Long.BYTES;
      packet.length = Long.BYTES;
      if (request.hasAtomicValue) {
        Memory.putLong(packet.payload, request.atomicValue);
        return true;
      }
      return request.gather(queuePair.domain, 0, packet.payload, Long.BYTES);
    }
    return true;
  }

  // What the responder answers

  @Override
  public void receive(Packet packet) {
    if (Psn.distance(unacknowledged, packet.psn) < 0
        || Psn.distance(packet.psn, nextPsn) <= 0
        || !queuePair.canSend()) {
      return; // A duplicate, or no answer to anything that was sent.
    }
    if (Opcode.operation(packet.opcode) != Opcode.ACKNOWLEDGE) {
      response(packet);
    } else if (Syndrome.isAck(packet.syndrome)) {
      acknowledge(Psn.plus(packet.psn, 1));
    } else {
      notAcknowledged(packet);
    }
    engine.request(queuePair.task);
  }

  /** The responder has all packets before a PSN; false if responses to some of them are missing. */
  private boolean acknowledge(int psn) {
    SoftSendRequest waiting = firstWaiting();
    int until = psn;
    boolean complete = true;
    if (waiting != null) {
      int expected = Psn.plus(waiting.firstPsn, waiting.received);
      if (Psn.distance(expected, psn) > 0) {
        until = expected;
        complete = false;
      }
    }
    progress(until);
    if (!complete && !askedAgain) {
      askedAgain = true;
      retry();
    }
    return complete;
  }

  /** The oldest request whose response is not complete, or null. */
  private @Nullable SoftSendRequest firstWaiting() {
    if (outstandingReads == 0) {
      return null;
    }
    for (long i = sends.retired(); i < sends.started; i++) {
      SoftSendRequest request = sends.at(i);
      if (request.hasResponse() && !request.finished) {
        return request;
      }
    }
    return null;
  }

  /** All packets before a PSN are done. */
  private void progress(int psn) {
    if (Psn.distance(unacknowledged, psn) <= 0) {
      return;
    }
    unacknowledged = psn;
    retriesLeft = retryCount;
    rnrRetriesLeft = rnrRetry;
    refusedNanos = 0;
    askedAgain = false;
    retransmission.stop();
    if (unacknowledged != nextPsn && timeoutNanos != 0) {
      retransmission.start(engine.now() + timeoutNanos);
    }
    skipDone();
    retire();
  }

  /** What was acknowledged while it was sent again need not be sent again. */
  private void skipDone() {
    while (cursor < sends.started) {
      SoftSendRequest request = sends.at(cursor);
      if (Psn.distance(request.lastPsn(), unacknowledged) <= 0) {
        if (!request.hasResponse()) {
          cursorPacket = Math.max(cursorPacket, Psn.distance(request.firstPsn, unacknowledged));
        }
        return;
      }
      advance();
    }
  }

  /** Completes the requests that are done, in order. */
  private void retire() {
    while (sends.retired() < sends.started) {
      SoftSendRequest request = sends.at(sends.retired());
      boolean done =
          (request.hasResponse() || request.isLocal())
              ? request.finished
              : Psn.distance(request.lastPsn(), unacknowledged) > 0;
      if (!done || sends.retired() >= cursor) {
        break;
      }
      queuePair.retire(request, rdma_h.IBV_WC_SUCCESS());
    }
    queuePair.checkDrained();
  }

  private void response(Packet packet) {
    SoftSendRequest request = firstWaiting();
    if (request == null) {
      return;
    }
    int ahead = Psn.distance(Psn.plus(request.firstPsn, request.received), packet.psn);
    if (ahead != 0) {
      if (ahead > 0 && !askedAgain) {
        progress(Psn.plus(request.firstPsn, request.received));
        askedAgain = true;
        retry();
      }
      return;
    }
    if (request.isRead()) {
      readResponse(request, packet);
    } else if (!request.isAtomic() || atomicResponse(request, packet)) {
      finish(request);
    }
    if (queuePair.canSend()) {
      progress(Psn.plus(packet.psn, 1));
    }
  }

  private void readResponse(SoftSendRequest request, Packet packet) {
    long offset = (long) request.received * mtu;
    if (packet.length != Math.min(mtu, request.length() - offset)) {
      fail(rdma_h.IBV_WC_BAD_RESP_ERR());
    } else if (packet.length > 0
        && !request.elements.scatter(queuePair.domain, offset, packet.payload, packet.length)) {
      fail(rdma_h.IBV_WC_LOC_PROT_ERR());
    } else if (++request.received == request.packets) {
      finish(request);
    }
  }

  private boolean atomicResponse(SoftSendRequest request, Packet packet) {
    Memory.putLong(packet.payload, packet.original);
    if (request.elements.scatter(queuePair.domain, 0, packet.payload, Long.BYTES)) {
      return true;
    }
    fail(rdma_h.IBV_WC_LOC_PROT_ERR());
    return false;
  }

  private void finish(SoftSendRequest request) {
    request.finished = true;
    outstandingReads--;
  }

  private void notAcknowledged(Packet packet) {
    if (!acknowledge(packet.psn)) {
      return; // Responses before it are missing: they are asked for first.
    }
    if (Syndrome.isRnrNak(packet.syndrome)) {
      receiverNotReady(packet.syndrome);
      return;
    }
    switch (packet.syndrome) {
      case Syndrome.NAK_SEQUENCE -> {
        queuePair.device.counters.sequenceNaks++;
        retry();
      }
      case Syndrome.NAK_INVALID_REQUEST -> fail(rdma_h.IBV_WC_REM_INV_REQ_ERR());
      case Syndrome.NAK_REMOTE_ACCESS -> fail(rdma_h.IBV_WC_REM_ACCESS_ERR());
      default -> fail(rdma_h.IBV_WC_REM_OP_ERR());
    }
  }

  private void receiverNotReady(int syndrome) {
    queuePair.device.counters.rnrNaks++;
    if (rnrRetry != RETRY_FOR_EVER && rnrRetriesLeft-- == 0) {
      queuePair.device.counters.failedRnrRetries++;
      fail(rdma_h.IBV_WC_RNR_RETRY_EXC_ERR());
      return;
    }
    rewind();
    retransmission.stop(); // Nothing is under way until the RNR timer expires.
    long nanos = Syndrome.rnrNanos(syndrome);
    rnrTimer.start(engine.now() + nanos);
    refusedNanos += nanos;
    queuePair.explainRefused(refusedNanos);
  }

  private void timedOut() {
    if (queuePair.device.isStopped()) {
      retransmission.start(engine.now() + timeoutNanos);
    } else if (queuePair.canSend() && unacknowledged != nextPsn) {
      askedAgain = false;
      retry();
      engine.request(queuePair.task);
    }
  }

  /**
   * Retransmits from the oldest packet that is not acknowledged, unless the retry count is
   * exhausted.
   */
  private void retry() {
    if (retriesLeft-- == 0) {
      queuePair.device.counters.failedRetries++;
      fail(rdma_h.IBV_WC_RETRY_EXC_ERR());
      return;
    }
    queuePair.device.counters.retransmissions++;
    rewind();
    queuePair.pathFailing(retryCount - retriesLeft);
  }

  private void rewind() {
    long position = sends.retired();
    while (position < sends.started
        && Psn.distance(sends.at(position).lastPsn(), unacknowledged) > 0) {
      position++;
    }
    cursor = position;
    cursorPacket = 0;
    if (position < sends.started && !sends.at(position).hasResponse()) {
      cursorPacket = Math.max(0, Psn.distance(sends.at(position).firstPsn, unacknowledged));
    }
    localError = 0;
    retransmission.stop();
    if (timeoutNanos != 0) {
      retransmission.start(engine.now() + timeoutNanos);
    }
  }

  /** Fails the oldest request; the queue pair enters the error state. */
  private void fail(int status) {
    if (sends.retired() < sends.started) {
      queuePair.retire(sends.at(sends.retired()), status);
    }
    queuePair.toError();
  }
}
