package dev.verbena.soft.transport;

import dev.verbena.internal.foreign.Memory;
import dev.verbena.raw.rdma_h;
import dev.verbena.soft.device.CStruct;
import dev.verbena.soft.device.MemoryKey;
import dev.verbena.soft.device.SoftDomain;
import dev.verbena.soft.engine.Engine;
import dev.verbena.soft.wire.Opcode;
import dev.verbena.soft.wire.Packet;
import dev.verbena.soft.wire.PacketPool;
import dev.verbena.soft.wire.Psn;
import dev.verbena.soft.wire.Syndrome;

/**
 * The responder of a reliable connection: executes requests in the order of their PSNs, each once,
 * and acknowledges them.
 *
 * <p>Between two packets holds: all requests before the PSN {@code expected} were executed, none
 * from it on. If {@code unacknowledged}, {@code acknowledgeable} is the PSN of an executed request
 * which the next answer acknowledges, with all before it; each answer ends that. If {@code
 * nakSent}, the requester was told to send again from {@code expected} on, and packets after it get
 * no answer until the one with that PSN arrives.
 */
class Responder implements TransportService {
  private static final int REMOTE_WRITE = rdma_h.IBV_QP_ATTACH_COMP_CNTR_OP_REMOTE_RDMA_WRITE();

  /** The message that is under way. */
  private enum Message {
    NONE,
    SEND,
    WRITE
  }

  /** How many READ response packets are sent before other queue pairs have their turn. */
  private static final int BURST = 32;

  private final SoftQueuePair queuePair;
  private final Engine engine;
  private final PacketPool packets;
  private final Receiver receiver;
  private final ResponderResources resources = new ResponderResources();
  private final WaitingRequests waiting;
  private final LateWrites lateWrites;

  private int expected;
  private int messages;

  /** Whether a NAK was sent for the expected PSN: until it arrives, nothing is answered. */
  private boolean nakSent;

  /** Whether SEND or WRITE packets arrived that no answer has acknowledged yet. */
  private boolean unacknowledged;

  /** The PSN of the last of them. */
  private int acknowledgeable;

  private Message message = Message.NONE;

  private long writeAddress;
  private int writeKey;
  private long writeLength;
  private long written;

  /** The protection domain that the request concerns: with XRC, that of the SRQ it names. */
  private SoftDomain domain;

  // The READ that is being answered
  private boolean reading;

  /** Its place in the responder resources. */
  private int readPlace;

  private long readAddress;
  private int readKey;
  private long readLeft;
  private int readPsn;
  private int readMessage;
  private boolean readFirst;

  private int mtu;
  private int rnrTimer;
  private int accessFlags;

  Responder(SoftQueuePair queuePair) {
    this.queuePair = queuePair;
    engine = queuePair.device.engine;
    packets = queuePair.device.packets;
    receiver = new Receiver(queuePair);
    waiting = new WaitingRequests(packets, resources);
    lateWrites = new LateWrites(queuePair.device);
  }

  @Override
  public void modified(int mask) {
    CStruct attr = queuePair.attributes;
    mtu = 128 << attr.getInt("path_mtu");
    if ((mask & rdma_h.IBV_QP_RQ_PSN()) != 0) {
      expected = attr.getInt("rq_psn") & Psn.MASK;
    }
    rnrTimer = attr.getByte("min_rnr_timer") & 0x1f;
    if ((mask & rdma_h.IBV_QP_MAX_DEST_RD_ATOMIC()) != 0) {
      resources.resize(attr.getByte("max_dest_rd_atomic"));
    }
    accessFlags = attr.getInt("qp_access_flags");
  }

  /** Begins anew with the PSN of the first request. */
  final void begin(int psn) {
    stop();
    expected = psn;
  }

  /** Fails the receive that is being filled: the rest of the message is refused. */
  final void endMessage() {
    if (message == Message.SEND) {
      message = Message.NONE;
      receiver.flush();
    }
  }

  /** Fails the receive that is being filled; forgets everything else. */
  @Override
  public void stop() {
    acknowledge();
    receiver.flush();
    waiting.clear();
    lateWrites.finish();
    resources.clear();
    message = Message.NONE;
    reading = false;
    nakSent = false;
    unacknowledged = false;
    messages = 0;
  }

  /**
   * Sends a bounded number of responses to the READ that is under way, then handles the requests
   * that waited for it. Acknowledges what was executed: several requests that arrived together at
   * once.
   *
   * @return whether more can be done at once
   */
  @Override
  public boolean send() {
    boolean more = answer();
    acknowledge();
    return more;
  }

  private boolean answer() {
    int sent = 0;
    while (reading && sent < BURST) {
      readResponse();
      sent++;
      while (!reading && queuePair.canReceive()) {
        Packet packet = waiting.poll();
        if (packet == null) {
          return false;
        }
        handle(packet);
        packets.releaseWaiting(packet);
      }
    }
    return reading;
  }

  @Override
  public void receive(Packet packet) {
    if (reading) {
      keep(packet);
    } else {
      handle(packet);
    }
  }

  /** Keeps a request until the responses to the READ are sent, if it is of use then. */
  private void keep(Packet packet) {
    if (waiting.isEmpty()) {
      waiting.expect(expected);
    }
    int operation = Opcode.operation(packet.opcode);
    if (Psn.distance(expected, packet.psn) >= 0) {
      boolean isRead = operation == Opcode.READ_REQUEST;
      long length = Integer.toUnsignedLong(packet.dmaLength);
      waiting.add(packet, isRead ? Segmentation.count(length, mtu) : 1);
    } else if (!ResponderResources.serves(operation)) {
      waiting.addDuplicate(packet, expected);
    } else {
      int place = placeOf(packet, operation);
      if (place >= 0 && !isAboutToBeSent(place, packet.psn)) {
        waiting.addRepeat(packet, place);
      }
    }
  }

  /** The place of a duplicate in the responder resources, or -1. */
  private int placeOf(Packet packet, int operation) {
    return operation == Opcode.READ_REQUEST
        ? resources.findRead(
            packet.psn, packet.address, packet.remoteKey, Integer.toUnsignedLong(packet.dmaLength))
        : resources.findResult(packet.psn);
  }

  /**
   * Whether the READ at a place is being answered, and the response with a PSN is still to come.
   */
  private boolean isAboutToBeSent(int place, int psn) {
    return place == readPlace && Psn.distance(readPsn, psn) >= 0;
  }

  private void handle(Packet packet) {
    int ahead = Psn.distance(expected, packet.psn);
    if (ahead > 0) {
      if (!nakSent) {
        sendAgain(Syndrome.NAK_SEQUENCE);
      }
    } else if (ahead < 0) {
      duplicate(packet);
    } else if (packet.isLost()) {
      sendAgain(Syndrome.NAK_SEQUENCE); // Then the requester finds that the memory is gone.
    } else {
      nakSent = false;
      queuePair.communicationEstablished();
      execute(packet);
    }
  }

  // New requests

  private void execute(Packet packet) {
    int operation = Opcode.operation(packet.opcode);
    domain = queuePair.domainFor(packet.sharedQueue);
    if (domain == null) {
      refuseRequest(packet.psn);
      return;
    }
    boolean begins = Opcode.begins(operation);
    Message kind = kind(operation);
    if (begins ? message != Message.NONE : message == Message.NONE || message != kind) {
      refuseRequest(packet.psn);
      return;
    }
    if (kind != Message.WRITE) {
      lateWrites.finish();
    }
    switch (kind) {
      case SEND -> send(packet, operation);
      case WRITE -> write(packet, operation);
      default -> serve(packet, operation);
    }
  }

  private static Message kind(int operation) {
    return Opcode.isSend(operation)
        ? Message.SEND
        : Opcode.isWrite(operation) ? Message.WRITE : Message.NONE;
  }

  private boolean hasWrongLength(Packet packet, int operation) {
    return Opcode.ends(operation)
        ? packet.length > mtu || (!Opcode.begins(operation) && packet.length == 0)
        : packet.length != mtu;
  }

  private void send(Packet packet, int operation) {
    if (hasWrongLength(packet, operation)) {
      refuseRequest(packet.psn);
      return;
    }
    if (message == Message.NONE && !receiver.open(packet)) {
      receiverNotReady();
      return;
    }
    message = Message.SEND;
    int status = receiver.append(packet.payload, packet.length);
    if (status == 0 && Opcode.invalidates(operation)) {
      status = LocalOperations.invalidate(queuePair, packet.immediate) ? 0 : -1;
    }
    if (status != 0) {
      receiveFailed(packet.psn, status);
      return;
    }
    expected = Psn.plus(expected, 1);
    if (Opcode.ends(operation)) {
      message = Message.NONE;
      messages++;
      int flags =
          Opcode.hasImmediate(operation)
              ? rdma_h.IBV_WC_WITH_IMM()
              : Opcode.invalidates(operation) ? rdma_h.IBV_WC_WITH_INV() : 0;
      receiver.completeSend(packet, flags);
    }
    executed(packet);
  }

  /** A packet of a SEND or WRITE was executed: those before it are acknowledged along with it. */
  private void executed(Packet packet) {
    unacknowledged |= packet.ackRequested;
    acknowledgeable = packet.psn;
  }

  private void receiveFailed(int psn, int status) {
    message = Message.NONE;
    if (status == -1) {
      receiver.fail(rdma_h.IBV_WC_LOC_QP_OP_ERR());
      acknowledge(psn, Syndrome.NAK_REMOTE_ACCESS);
    } else {
      receiver.fail(status);
      boolean tooLong = status == rdma_h.IBV_WC_LOC_LEN_ERR();
      acknowledge(psn, tooLong ? Syndrome.NAK_INVALID_REQUEST : Syndrome.NAK_REMOTE_OPERATION);
    }
    end(0);
  }

  private void write(Packet packet, int operation) {
    if (hasWrongLength(packet, operation)
        || (accessFlags & rdma_h.IBV_ACCESS_REMOTE_WRITE()) == 0) {
      refuseRequest(packet.psn);
      return;
    }
    if (message == Message.NONE) {
      writeAddress = packet.address;
      writeKey = packet.remoteKey;
      writeLength = Integer.toUnsignedLong(packet.dmaLength);
      written = 0;
    }
    boolean last = Opcode.ends(operation);
    if (last ? written + packet.length != writeLength : written + packet.length > writeLength) {
      refuseRequest(packet.psn);
      return;
    }
    // A receive is needed first: an RNR NAK leaves nothing written by this packet.
    boolean immediate = Opcode.hasImmediate(operation);
    if (immediate && !receiver.isOpen() && !receiver.open(packet.sharedQueue)) {
      receiverNotReady();
      return;
    }
    message = Message.WRITE;
    if (writeLength > 0 && !writePayload(packet)) {
      refuseAccess(packet.psn);
      return;
    }
    written += packet.length;
    expected = Psn.plus(expected, 1);
    if (last) {
      message = Message.NONE;
      messages++;
      queuePair.count(REMOTE_WRITE, false, writeLength);
      if (immediate) {
        lateWrites.finish();
        receiver.complete(
            rdma_h.IBV_WC_RECV_RDMA_WITH_IMM(), writeLength, packet, rdma_h.IBV_WC_WITH_IMM());
      }
    }
    executed(packet);
  }

  private boolean writePayload(Packet packet) {
    MemoryKey key =
        queuePair.remoteMemory(
            writeKey, domain, rdma_h.IBV_ACCESS_REMOTE_WRITE(), writeAddress, writeLength);
    if (key == null) {
      return false;
    }
    if (packet.from == null && queuePair.device.delays.isOn()) {
      return lateWrites.add(messages, packet, key, writeAddress + written);
    }
    lateWrites.finish();
    return key.write(packet, writeAddress + written);
  }

  /** Executes a request that is answered by a response, which is kept for duplicates. */
  private void serve(Packet packet, int operation) {
    int access = access(packet, operation);
    boolean isWord = Opcode.isWordOperation(operation);
    if (access < 0
        || (accessFlags & access) != access
        || resources.isEmpty()
        || (operation == Opcode.ATOMIC_WRITE && packet.length != Long.BYTES)) {
      refuseRequest(packet.psn);
      return;
    }
    boolean isOfWholeRegion =
        operation == Opcode.FLUSH && packet.flushLevel == rdma_h.IBV_FLUSH_MR();
    long length = isWord ? Long.BYTES : Integer.toUnsignedLong(packet.dmaLength);
    boolean isEmptyRead = operation == Opcode.READ_REQUEST && length == 0;
    MemoryKey key = queuePair.device.keys.get(packet.remoteKey);
    if (!isEmptyRead
        && (key == null
            || !key.serves(domain, queuePair, access)
            || !(isOfWholeRegion || key.covers(packet.address, length)))) {
      refuseAccess(packet.psn);
    } else if (isWord && key.at(packet.address) % Long.BYTES != 0) {
      refuseRequest(packet.psn);
    } else if (operation == Opcode.READ_REQUEST) {
      int packets = Segmentation.count(length, mtu);
      queuePair.count(rdma_h.IBV_QP_ATTACH_COMP_CNTR_OP_REMOTE_RDMA_READ(), false, length);
      served(packets);
      startReading(
          packet,
          length,
          resources.addRead(packet.psn, packets, packet.address, packet.remoteKey, length));
    } else if (isWord && !changeWord(packet, operation, key)) {
      refuseAccess(packet.psn);
    } else {
      // A FLUSH: in memory of this process, what was written is visible, and nothing persistent.
      boolean isAtomic = isWord && operation != Opcode.ATOMIC_WRITE;
      int answer = isAtomic ? Opcode.ATOMIC_ACKNOWLEDGE : Opcode.READ_RESPONSE_ONLY;
      long original = isAtomic ? packet.original : 0;
      served(1);
      resources.addResult(packet.psn, answer, original);
      sendResult(packet.psn, answer, original);
    }
  }

  private void served(int packets) {
    expected = Psn.plus(expected, packets);
    messages++;
  }

  /** The access flags that a request needs; -1 if there is no such request. */
  private static int access(Packet packet, int operation) {
    return switch (operation) {
      case Opcode.READ_REQUEST -> rdma_h.IBV_ACCESS_REMOTE_READ();
      case Opcode.COMPARE_SWAP, Opcode.FETCH_ADD -> rdma_h.IBV_ACCESS_REMOTE_ATOMIC();
      case Opcode.ATOMIC_WRITE -> rdma_h.IBV_ACCESS_REMOTE_WRITE();
      case Opcode.FLUSH ->
          ((packet.flushType & rdma_h.IBV_FLUSH_GLOBAL()) != 0
                  ? rdma_h.IBV_ACCESS_FLUSH_GLOBAL()
                  : 0)
              | ((packet.flushType & rdma_h.IBV_FLUSH_PERSISTENT()) != 0
                  ? rdma_h.IBV_ACCESS_FLUSH_PERSISTENT()
                  : 0);
      default -> -1;
    };
  }

  /** Executes an atomic operation or an ATOMIC WRITE; false if the memory no longer exists. */
  private static boolean changeWord(Packet packet, int operation, MemoryKey key) {
    if (operation != Opcode.ATOMIC_WRITE) {
      if (!key.read(packet.address, packet.payload, Long.BYTES)) {
        return false;
      }
      packet.original = Memory.getLong(packet.payload);
      boolean adds = operation == Opcode.FETCH_ADD;
      if (!adds && packet.original != packet.compare) {
        return true;
      }
      Memory.putLong(packet.payload, packet.swapOrAdd + (adds ? packet.original : 0));
    }
    return key.write(packet.payload, packet.address, Long.BYTES);
  }

  private void startReading(Packet packet, long length, int place) {
    reading = true;
    readPlace = place;
    domain = queuePair.domainFor(packet.sharedQueue);
    readAddress = packet.address;
    readKey = packet.remoteKey;
    readLeft = length;
    readPsn = packet.psn;
    readMessage = messages;
    readFirst = true;
    engine.request(queuePair.task);
  }

  private void readResponse() {
    int size = (int) Math.min(mtu, readLeft);
    boolean last = readLeft <= mtu;
    int operation =
        last
            ? readFirst ? Opcode.READ_RESPONSE_ONLY : Opcode.READ_RESPONSE_LAST
            : readFirst ? Opcode.READ_RESPONSE_FIRST : Opcode.READ_RESPONSE_MIDDLE;
    Packet packet = response(operation, readPsn);
    packet.syndrome = Syndrome.ACK;
    packet.messageNumber = readMessage;
    packet.length = size;
    if (size > 0 && !readPayload(packet, size)) {
      packets.release(packet);
      reading = false;
      refuseAccess(readPsn);
      return;
    }
    transmit(packet);
    readAddress += size;
    readLeft -= size;
    readPsn = Psn.plus(readPsn, 1);
    readFirst = false;
    reading = !last;
  }

  private boolean readPayload(Packet packet, int size) {
    MemoryKey key =
        queuePair.remoteMemory(readKey, domain, rdma_h.IBV_ACCESS_REMOTE_READ(), readAddress, size);
    return key != null && key.read(readAddress, packet.payload, size);
  }

  // Requests that arrived before

  private void duplicate(Packet packet) {
    int operation = Opcode.operation(packet.opcode);
    if (ResponderResources.serves(operation)) {
      acknowledge(); // The answer that is sent again is an older one.
      repeat(packet, placeOf(packet, operation));
      return;
    }
    // No later one than the duplicate: the requester may lack the response to a READ after it.
    if (!unacknowledged || Psn.distance(acknowledgeable, packet.psn) > 0) {
      acknowledgeable = packet.psn;
    }
    unacknowledged = true;
  }

  /** Answers a request again, whose place in the responder resources is known. */
  private void repeat(Packet packet, int place) {
    if (place < 0) {
      return;
    }
    resources.waiting(place, false);
    if (Opcode.operation(packet.opcode) == Opcode.READ_REQUEST) {
      startReading(packet, Integer.toUnsignedLong(packet.dmaLength), place);
    } else {
      sendResult(packet.psn, resources.operation(place), resources.original(place));
    }
  }

  // Answers

  void receiverNotReady() {
    sendAgain(Syndrome.rnrNak(rnrTimer));
  }

  /** Answers with a NAK after which the requester sends again from the expected PSN on. */
  private void sendAgain(int syndrome) {
    nakSent = true;
    waiting.expect(expected);
    acknowledge(expected, syndrome);
  }

  /** Answers with a NAK for an invalid request, which ends the connection. */
  private void refuseRequest(int psn) {
    acknowledge(psn, Syndrome.NAK_INVALID_REQUEST);
    fail(rdma_h.IBV_WC_REM_INV_REQ_ERR(), rdma_h.IBV_EVENT_QP_REQ_ERR());
  }

  /** Answers with a NAK for a remote access error, which ends the connection. */
  private void refuseAccess(int psn) {
    acknowledge(psn, Syndrome.NAK_REMOTE_ACCESS);
    fail(rdma_h.IBV_WC_LOC_ACCESS_ERR(), rdma_h.IBV_EVENT_QP_ACCESS_ERR());
  }

  /** Ends the connection: with the status of the receive that is being filled, or by an event. */
  private void fail(int status, int event) {
    boolean receives = message == Message.SEND || receiver.isOpen();
    message = Message.NONE;
    if (receives) {
      receiver.fail(status);
    }
    end(receives ? 0 : event);
  }

  /** The connection has failed, with an event or with 0. */
  void end(int event) {
    if (event != 0) {
      queuePair.event(event);
    }
    queuePair.toError();
  }

  /**
   * Acknowledges SEND and WRITE packets that arrived, unless a later answer has done so or the
   * response to a READ is about to.
   */
  private void acknowledge() {
    if (unacknowledged && !reading) {
      acknowledge(acknowledgeable, Syndrome.ACK);
    }
  }

  void acknowledge(int psn, int syndrome) {
    Packet packet = response(Opcode.ACKNOWLEDGE, psn);
    packet.syndrome = syndrome;
    packet.messageNumber = messages & Psn.MASK;
    transmit(packet);
  }

  private void sendResult(int psn, int operation, long original) {
    Packet packet = response(operation, psn);
    packet.syndrome = Syndrome.ACK;
    packet.messageNumber = messages & Psn.MASK;
    packet.original = original;
    transmit(packet);
  }

  /** Sends an answer to the requester. */
  void transmit(Packet packet) {
    queuePair.transmit(packet);
  }

  /** An answer, which acknowledges all requests before it. */
  private Packet response(int operation, int psn) {
    unacknowledged = false;
    return packets.take().reset(queuePair.transportBits | operation, queuePair.remoteNumber, psn);
  }
}
