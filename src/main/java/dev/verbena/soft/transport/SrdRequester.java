package dev.verbena.soft.transport;

import dev.verbena.internal.time.Time;
import dev.verbena.raw.rdma_h;
import dev.verbena.soft.engine.Engine;
import dev.verbena.soft.engine.Timer;
import dev.verbena.soft.wire.Opcode;
import dev.verbena.soft.wire.Packet;
import dev.verbena.soft.wire.PacketPool;
import dev.verbena.soft.wire.Psn;
import java.util.Arrays;
import java.util.random.RandomGenerator;

/**
 * The requester of scalable reliable datagrams (SRD) between software devices: as reliable and as
 * unordered as those of Amazon's EFA, over packets of this project. A request is sent in pieces of
 * at most the MTU: each is one packet with a PSN of its own, which the responder executes by itself
 * and answers by one packet, so that pieces may be lost, repeated and reordered. Requests begin in
 * a random order, as on a device whose packets take several paths.
 */
final class SrdRequester implements TransportService {
  /** How many pieces wait for an answer. */
  static final int WINDOW = 128;

  private static final int BURST = 32;
  private static final long ANSWER_TIMEOUT = 20_000_000;
  private static final int ATTEMPTS = 8;
  private static final long RNR_DELAY = 1_000_000;

  /** {@code rnr_retry} of a queue pair that retries without end. */
  private static final int ENDLESS = 7;

  private final SoftQueuePair queuePair;
  private final SendQueue sends;
  private final Engine engine;
  private final PacketPool packets;
  private final Slot[] window = new Slot[WINDOW];

  /** Those that were begun, and of these first the ones that have a piece to send. */
  private final Transfer[] transfers;

  private int begun;
  private int sendable;
  private int nextPsn;
  private int session = Time.random(RandomGenerator.getDefault()).nextInt();
  private int queueKey;
  private int rnrRetries = ENDLESS;
  private int random;
  private final Timer answers;
  private final Timer retries;

  /** A piece without an answer. */
  private static final class Slot {
    /** What it is a piece of; null if nothing has the slot. */
    private Transfer transfer;

    private int psn;
    private int piece;
    private int attempts;
    private long deadline;
  }

  /** A request that was begun. */
  private static final class Transfer {
    private SoftSendRequest request;
    private int pieces;
    private int sent;
    private int answered;
    private int refusals;

    /** Whether the receiver was not ready, and the next attempt is not due. */
    private boolean waits;

    /** Where it is among the transfers. */
    private int place;

    /** Immediate data are sent last: the receiver may use all data when they have arrived. */
    boolean isSendable() {
      return !waits
          && sent < pieces
          && (sent < pieces - 1 || !request.isWriteWithImmediate() || answered == pieces - 1);
    }
  }

  SrdRequester(SoftQueuePair queuePair) {
    this.queuePair = queuePair;
    sends = queuePair.sends;
    engine = queuePair.device.engine;
    packets = queuePair.device.packets;
    transfers = new Transfer[Math.max(1, sends.capacity())];
    random = queuePair.number;
    Arrays.setAll(window, _ -> new Slot());
    answers = new Timer(engine.timers(), this::repeat);
    retries = new Timer(engine.timers(), this::retry);
  }

  @Override
  public void modified(int mask) {
    if ((mask & rdma_h.IBV_QP_SQ_PSN()) != 0) {
      nextPsn = queuePair.attributes.getInt("sq_psn") & Psn.MASK;
    }
    queueKey = queuePair.attributes.getInt("qkey");
    if ((mask & rdma_h.IBV_QP_RNR_RETRY()) != 0) {
      rnrRetries = queuePair.attributes.getByte("rnr_retry");
    }
  }

  @Override
  public void stop() {
    for (Slot slot : window) {
      slot.transfer = null;
    }
    begun = 0;
    sendable = 0;
    session++;
    answers.stop();
    retries.stop();
  }

  // Sending

  @Override
  public boolean send() {
    begin();
    for (int i = 0; i < BURST && sendable > 0; i++) {
      Slot slot = window[nextPsn % WINDOW];
      if (slot.transfer != null) {
        return false;
      }
      Transfer transfer = transfers[nextRandom(sendable)];
      slot.transfer = transfer;
      slot.psn = nextPsn;
      slot.piece = transfer.sent++;
      slot.attempts = 0;
      nextPsn = Psn.plus(nextPsn, 1);
      sorted(transfer);
      transmit(slot);
    }
    return sendable > 0;
  }

  private int nextRandom(int bound) {
    random ^= random << 13;
    random ^= random >>> 17;
    random ^= random << 5;
    return (random >>> 1) % bound;
  }

  /** Begins all requests that were posted. */
  private void begin() {
    while (queuePair.state == rdma_h.IBV_QPS_RTS() && sends.started < sends.posted()) {
      SoftSendRequest request = sends.at(sends.started);
      request.position = sends.started++;
      int status = check(request);
      if (status == rdma_h.IBV_WC_SUCCESS()) {
        add(request);
      } else {
        complete(request, status);
      }
    }
  }

  private int check(SoftSendRequest request) {
    if (request.handle == null || request.handle.domain.root() != queuePair.domain.root()) {
      return rdma_h.IBV_WC_LOC_QP_OP_ERR();
    }
    long most = request.isSend() ? queuePair.device.mtu : SoftQueuePair.MAX_RDMA;
    if (request.length() > most) {
      return rdma_h.IBV_WC_LOC_LEN_ERR();
    }
    int access = request.isRead() ? rdma_h.IBV_ACCESS_LOCAL_WRITE() : 0;
    return request.inlineLength >= 0 || request.elements.isAllowed(queuePair.domain, access)
        ? rdma_h.IBV_WC_SUCCESS()
        : rdma_h.IBV_WC_LOC_PROT_ERR();
  }

  private void add(SoftSendRequest request) {
    Transfer transfer = transfers[begun];
    if (transfer == null) {
      transfer = new Transfer();
      transfers[begun] = transfer;
    }
    transfer.place = begun++;
    transfer.request = request;
    transfer.pieces = Segmentation.count(request.length(), queuePair.device.mtu);
    transfer.sent = 0;
    transfer.answered = 0;
    transfer.refusals = 0;
    transfer.waits = false;
    sorted(transfer);
  }

  /** Puts a transfer where it belongs: to those that have a piece to send, or behind them. */
  private void sorted(Transfer transfer) {
    boolean isAmong = transfer.place < sendable;
    if (transfer.isSendable() && !isAmong) {
      swap(transfer, transfers[sendable++]);
    } else if (!transfer.isSendable() && isAmong) {
      swap(transfer, transfers[--sendable]);
    }
  }

  private void swap(Transfer one, Transfer other) {
    int place = one.place;
    one.place = other.place;
    other.place = place;
    transfers[one.place] = one;
    transfers[other.place] = other;
  }

  /** Sends a piece, or sends it again. */
  private void transmit(Slot slot) {
    SoftSendRequest request = slot.transfer.request;
    int mtu = queuePair.device.mtu;
    long length = request.length();
    Packet packet =
        packets.take().reset(opcode(slot), request.remoteQueuePair & Psn.MASK, slot.psn);
    packet.sourceNumber = queuePair.number;
    // The highest bit asks for the queue pair's own Q_Key.
    packet.queueKey = request.remoteQueueKey < 0 ? queueKey : request.remoteQueueKey;
    packet.session = session;
    packet.offset = slot.piece * mtu;
    int size = (int) Math.min(mtu, length - packet.offset);
    packet.address = request.remoteAddress;
    packet.remoteKey = request.remoteKey;
    packet.immediate = request.immediate;
    if (request.isRead()) {
      packet.dmaLength = size;
    } else {
      packet.dmaLength = (int) length;
      packet.length = size;
      if (!request.gather(queuePair.domain, packet.offset, packet.payload, size)) {
        packets.release(packet);
        finish(slot.transfer, rdma_h.IBV_WC_LOC_PROT_ERR());
        return;
      }
    }
    request.handle.vector.address(packet);
    slot.deadline = engine.now() + (ANSWER_TIMEOUT << slot.attempts);
    if (!answers.isRunning()) {
      answers.start(slot.deadline);
    }
    queuePair.device.fabric.send(request.handle.vector.port(), packet);
  }

  private static int opcode(Slot slot) {
    SoftSendRequest request = slot.transfer.request;
    boolean last = slot.piece == slot.transfer.pieces - 1;
    int operation;
    if (request.isRead()) {
      operation = Opcode.READ_REQUEST;
    } else if (request.isSend()) {
      operation =
          request.opcode == rdma_h.IBV_WR_SEND_WITH_IMM() ? Opcode.SEND_ONLY_IMM : Opcode.SEND_ONLY;
    } else {
      operation =
          last && request.isWriteWithImmediate() ? Opcode.WRITE_ONLY_IMM : Opcode.WRITE_ONLY;
    }
    return Opcode.SRD | operation;
  }

  // Answers

  @Override
  public void receive(Packet packet) {
    Slot slot = window[packet.psn % WINDOW];
    Transfer transfer = slot.transfer;
    if (packet.session != session || transfer == null || slot.psn != packet.psn) {
      return; // Answered before.
    }
    if (packet.syndrome == rdma_h.IBV_WC_RNR_RETRY_EXC_ERR()
        && (rnrRetries == ENDLESS || transfer.refusals < rnrRetries)) {
      slot.transfer = null;
      wait(transfer);
    } else if (packet.syndrome != rdma_h.IBV_WC_SUCCESS()) {
      finish(transfer, packet.syndrome);
    } else if (transfer.request.isRead() && !store(packet, slot)) {
      finish(transfer, rdma_h.IBV_WC_LOC_PROT_ERR());
    } else {
      slot.transfer = null;
      transfer.answered++;
      if (transfer.answered == transfer.pieces) {
        finish(transfer, rdma_h.IBV_WC_SUCCESS());
      } else {
        sorted(transfer);
      }
    }
    queuePair.device.engine.request(queuePair.task);
  }

  private boolean store(Packet packet, Slot slot) {
    return slot.transfer.request.elements.scatter(
        queuePair.domain, (long) slot.piece * queuePair.device.mtu, packet.payload, packet.length);
  }

  /** The receiver is not ready (RNR): the piece is sent again later, with another PSN. */
  private void wait(Transfer transfer) {
    transfer.refusals++;
    queuePair.explainRefused(transfer.refusals * RNR_DELAY);
    transfer.sent--;
    transfer.waits = true;
    sorted(transfer);
    if (!retries.isRunning()) {
      retries.start(engine.now() + RNR_DELAY);
    }
  }

  private void retry() {
    for (int i = 0; i < begun; i++) {
      Transfer transfer = transfers[i];
      if (transfer.waits) {
        transfer.waits = false;
        sorted(transfer);
      }
    }
    queuePair.device.engine.request(queuePair.task);
  }

  /** Sends pieces again whose answers are overdue. */
  private void repeat() {
    long now = engine.now();
    long next = Long.MAX_VALUE;
    for (Slot slot : window) {
      if (slot.transfer != null && slot.deadline <= now) {
        if (++slot.attempts == ATTEMPTS) {
          finish(slot.transfer, rdma_h.IBV_WC_RESP_TIMEOUT_ERR());
        } else {
          transmit(slot);
        }
      }
      if (slot.transfer != null) {
        next = Math.min(next, slot.deadline);
      }
    }
    if (next < Long.MAX_VALUE) {
      answers.start(next);
    }
    queuePair.device.engine.request(queuePair.task);
  }

  /** A request is done, whatever was posted before it. */
  private void finish(Transfer transfer, int status) {
    if (transfer.answered < transfer.pieces) {
      for (Slot slot : window) {
        if (slot.transfer == transfer) {
          slot.transfer = null;
        }
      }
    }
    transfer.sent = transfer.pieces;
    sorted(transfer);
    swap(transfer, transfers[--begun]);
    complete(transfer.request, status);
  }

  private void complete(SoftSendRequest request, int status) {
    sends.toFront(request);
    queuePair.retire(request, status);
    queuePair.checkDrained();
  }
}
