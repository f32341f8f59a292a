package dev.verbena.soft.transport;

import dev.verbena.raw.rdma_h;
import dev.verbena.soft.device.MemoryKey;
import dev.verbena.soft.device.Peers;
import dev.verbena.soft.device.SoftPort;
import dev.verbena.soft.wire.Opcode;
import dev.verbena.soft.wire.Packet;
import java.util.LinkedHashMap;
import java.util.Map;

/**
 * The responder of SRD: executes each piece of a request by itself and answers with the status that
 * the completion of the request is to have. A piece that arrives again is answered as before.
 */
final class SrdResponder implements TransportService {
  private static final int HOP_LIMIT = 64;

  private final SoftQueuePair queuePair;
  private final Receiver receiver;
  private final Map<PacketSource, SrdSource> sources = new Sources();
  private final PacketSource wanted = new PacketSource();
  private int queueKey;
  private SoftPort port;

  /** The sources that were heard of last. */
  private static final class Sources extends LinkedHashMap<PacketSource, SrdSource> {
    private static final long serialVersionUID = 1;
    private static final int MOST = 1 << 16;

    Sources() {
      super(16, 0.75f, true);
    }

    @Override
    protected boolean removeEldestEntry(Map.Entry<PacketSource, SrdSource> eldest) {
      return size() > MOST;
    }
  }

  SrdResponder(SoftQueuePair queuePair) {
    this.queuePair = queuePair;
    receiver = new Receiver(queuePair);
  }

  @Override
  public void modified(int mask) {
    queueKey = queuePair.attributes.getInt("qkey");
    if ((mask & rdma_h.IBV_QP_PORT()) != 0) {
      port = queuePair.device.port(queuePair.attributes.getByte("port_num"));
    }
  }

  @Override
  public void stop() {
    receiver.flush();
  }

  @Override
  public boolean send() {
    return false; // It answers what it receives at once.
  }

  @Override
  public void receive(Packet packet) {
    SrdSource source = sources.get(wanted.of(packet));
    if (source == null) {
      source = new SrdSource(packet);
      sources.put(new PacketSource().of(packet), source);
    }
    if (Opcode.operation(packet.opcode) == Opcode.READ_REQUEST) {
      read(packet, source); // Executed again if it arrives again.
      return;
    }
    int status = source.answer(packet);
    if (status == SrdSource.NEW) {
      status = execute(packet, source);
      source.answered(packet, status);
    }
    if (status != SrdSource.OLD) {
      send(packet, answer(packet, Opcode.ACKNOWLEDGE, status));
    }
  }

  private int execute(Packet packet, SrdSource source) {
    int operation = Opcode.operation(packet.opcode);
    if (packet.queueKey != queueKey) {
      return rdma_h.IBV_WC_REM_INV_RD_REQ_ERR();
    }
    int number = source.number(queuePair.domain.peers);
    return Opcode.isWrite(operation)
        ? write(packet, operation, number)
        : receive(packet, operation, number);
  }

  private int receive(Packet packet, int operation, int number) {
    if (!receiver.open(0)) {
      return rdma_h.IBV_WC_RNR_RETRY_EXC_ERR();
    }
    int status = receiver.append(packet.payload, packet.length);
    if (status != 0) {
      receiver.fail(status);
      return status == rdma_h.IBV_WC_LOC_LEN_ERR()
          ? rdma_h.IBV_WC_REM_INV_REQ_ERR()
          : rdma_h.IBV_WC_REM_ABORT_ERR();
    }
    queuePair.sourced(number);
    receiver.complete(rdma_h.IBV_WC_RECV(), receiver.filled(), packet, flags(operation));
    return rdma_h.IBV_WC_SUCCESS();
  }

  private static int flags(int operation) {
    return Opcode.hasImmediate(operation) ? rdma_h.IBV_WC_WITH_IMM() : 0;
  }

  private int write(Packet packet, int operation, int number) {
    if (number == Peers.UNKNOWN) {
      return rdma_h.IBV_WC_REM_OP_ERR();
    }
    long length = Integer.toUnsignedLong(packet.dmaLength);
    MemoryKey key =
        find(packet, rdma_h.IBV_ACCESS_REMOTE_WRITE(), packet.address, length, packet.length);
    if (key == null && length > 0) {
      return rdma_h.IBV_WC_REM_ACCESS_ERR();
    }
    boolean solicited = Opcode.hasImmediate(operation) && !queuePair.choices.unsolicitedWrites();
    if (solicited && !receiver.open(0)) {
      return rdma_h.IBV_WC_RNR_RETRY_EXC_ERR();
    }
    if (length > 0 && !key.write(packet, packet.address + packet.offset)) {
      receiver.flush();
      return rdma_h.IBV_WC_REM_ACCESS_ERR();
    }
    if (solicited) {
      queuePair.sourced(number);
      receiver.complete(
          rdma_h.IBV_WC_RECV_RDMA_WITH_IMM(), length, packet, rdma_h.IBV_WC_WITH_IMM());
    } else if (Opcode.hasImmediate(operation)) {
      queuePair.sourced(number);
      queuePair.completeUnsolicited(packet, (int) length);
    }
    return rdma_h.IBV_WC_SUCCESS();
  }

  /** The memory of a request, or null if it may not be accessed. */
  private MemoryKey find(Packet packet, int access, long address, long length, long size) {
    boolean isPart = packet.offset >= 0 && packet.offset + size <= length;
    return isPart
        ? queuePair.remoteMemory(packet.remoteKey, queuePair.domain, access, address, length)
        : null;
  }

  private void read(Packet packet, SrdSource source) {
    int size = packet.dmaLength;
    int status = rdma_h.IBV_WC_SUCCESS();
    MemoryKey key = null;
    if (packet.queueKey != queueKey) {
      status = rdma_h.IBV_WC_REM_INV_RD_REQ_ERR();
    } else if (source.number(queuePair.domain.peers) == Peers.UNKNOWN) {
      status = rdma_h.IBV_WC_REM_OP_ERR();
    } else if (size != 0) {
      long end = (long) packet.offset + size;
      key = find(packet, rdma_h.IBV_ACCESS_REMOTE_READ(), packet.address, end, size);
      status =
          key == null || size < 0 || size > Packet.CAPACITY
              ? rdma_h.IBV_WC_REM_ACCESS_ERR()
              : status;
    }
    if (status != rdma_h.IBV_WC_SUCCESS()) {
      send(packet, answer(packet, Opcode.ACKNOWLEDGE, status));
      return;
    }
    Packet response = answer(packet, Opcode.READ_RESPONSE_ONLY, status);
    if (key == null || key.read(packet.address + packet.offset, response.payload, size)) {
      response.length = size;
    } else {
      response.opcode = Opcode.SRD | Opcode.ACKNOWLEDGE;
      response.syndrome = rdma_h.IBV_WC_REM_ACCESS_ERR();
    }
    send(packet, response);
  }

  private Packet answer(Packet request, int operation, int status) {
    Packet answer =
        queuePair
            .device
            .packets
            .take()
            .reset(Opcode.SRD | operation, request.sourceNumber, request.psn);
    answer.sourceNumber = queuePair.number;
    answer.queueKey = 0;
    answer.session = request.session;
    answer.offset = request.offset;
    answer.syndrome = status;
    answer.messageNumber = 0;
    return answer;
  }

  /** Sends an answer to where a request came from. */
  private void send(Packet request, Packet answer) {
    answer.sourceGidHigh = port.gids.getFirst().high();
    answer.sourceGidLow = port.gids.getFirst().low();
    answer.destinationGidHigh = request.sourceGidHigh;
    answer.destinationGidLow = request.sourceGidLow;
    answer.flowLabel = request.flowLabel;
    answer.hopLimit = HOP_LIMIT;
    answer.trafficClass = request.trafficClass;
    answer.serviceLevel = request.serviceLevel;
    queuePair.device.fabric.send(port, answer);
  }
}
