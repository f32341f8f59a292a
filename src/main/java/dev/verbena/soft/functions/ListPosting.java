package dev.verbena.soft.functions;

import static dev.verbena.internal.calls.SendWorkRequest.*;

import dev.verbena.Errno;
import dev.verbena.internal.foreign.Abi;
import dev.verbena.internal.foreign.Memory;
import dev.verbena.raw.ibv_ah;
import dev.verbena.raw.rdma_h;
import dev.verbena.soft.device.Registry;
import dev.verbena.soft.device.ScatterList;
import dev.verbena.soft.device.SoftAddressHandle;
import dev.verbena.soft.device.SoftDevice;
import dev.verbena.soft.device.SoftReceiveQueue;
import dev.verbena.soft.device.SoftWindow;
import dev.verbena.soft.transport.SendQueue;
import dev.verbena.soft.transport.SoftQueuePair;
import dev.verbena.soft.transport.SoftSendRequest;
import org.jspecify.annotations.Nullable;

/** {@code ibv_post_send}: takes lists of {@code struct ibv_send_wr} into send queues. */
final class ListPosting {
  private static final long AH_HANDLE = Abi.current().offsetOf(ibv_ah.layout(), "handle");

  private ListPosting() {}

  /** Posts a list: 0, or the errno of the request that {@code badWr} then names. */
  static int send(SoftQueuePair queuePair, long first, long badWr) {
    SendQueue sends = queuePair.sends;
    long wr = first;
    int errno = 0;
    int count = 0;
    sends.posting.lock();
    try {
      while (wr != 0 && (errno = take(queuePair, sends, count, wr)) == 0) {
        count++;
        wr = Memory.getLong(wr + NEXT);
      }
    } finally {
      if (wr != 0) {
        Memory.putLong(badWr, wr);
      }
      sends.post(count);
      sends.posting.unlock();
      if (count > 0) {
        queuePair.device.engine.request(queuePair.task);
      }
    }
    return errno;
  }

  /** Posts a list to a receive queue of a device; without a queue nothing can be posted. */
  static int receive(SoftDevice device, @Nullable SoftReceiveQueue queue, long first, long badWr) {
    if (queue == null) {
      return refuse(Errno.EINVAL, first, badWr);
    }
    return device.queuesFull ? refuse(Errno.ENOMEM, first, badWr) : queue.post(first, badWr);
  }

  /** Posts nothing of a list. */
  static int refuse(int errno, long first, long badWr) {
    Memory.putLong(badWr, first);
    return errno;
  }

  private static int take(SoftQueuePair queuePair, SendQueue sends, int pending, long wr) {
    if (!queuePair.takesSends()) {
      return Errno.EINVAL;
    }
    if (!queuePair.device.profile.posts(Memory.getInt(wr + OPCODE))) {
      return Errno.EINVAL;
    }
    if (sends.isFull(pending) || queuePair.device.queuesFull) {
      if (pending == 0) {
        queuePair.explainFull();
      }
      return Errno.ENOMEM;
    }
    int elements = Memory.getInt(wr + NUM_SGE);
    if (elements < 0 || elements > sends.maxElements()) {
      return Errno.EINVAL;
    }
    SoftSendRequest request = sends.free(pending);
    request.wrId = Memory.getLong(wr + WR_ID);
    request.opcode = Memory.getInt(wr + OPCODE);
    request.flags = Memory.getInt(wr + FLAGS);
    request.immediate = Memory.getInt(wr + IMMEDIATE);
    request.elements.read(Memory.getLong(wr + SG_LIST), elements);
    if (request.has(rdma_h.IBV_SEND_INLINE()) && !takeInline(sends, request)) {
      return Errno.EINVAL;
    }
    if (!sends.takesFlags(request.flags)) {
      return Errno.EINVAL;
    }
    if (queuePair.type == rdma_h.IBV_QPT_UD() || queuePair.type == rdma_h.IBV_QPT_DRIVER()) {
      request.handle = addressHandle(Memory.getLong(wr + UD_HANDLE));
      request.remoteQueuePair = Memory.getInt(wr + UD_NUMBER);
      request.remoteQueueKey = Memory.getInt(wr + UD_KEY);
      return request.handle == null ? Errno.EINVAL : 0;
    }
    if (queuePair.type == rdma_h.IBV_QPT_RAW_PACKET()) {
      return request.opcode == rdma_h.IBV_WR_TSO()
          ? takeHeader(
              sends,
              request,
              Memory.getLong(wr + TSO_HEADER),
              Memory.getShort(wr + TSO_HEADER_SIZE),
              Memory.getShort(wr + TSO_SEGMENT_SIZE))
          : 0;
    }
    if (request.isAtomic()) {
      request.remoteAddress = Memory.getLong(wr + ATOMIC_ADDRESS);
      request.remoteKey = Memory.getInt(wr + ATOMIC_KEY);
      request.compareAdd = Memory.getLong(wr + COMPARE_ADD);
      request.swap = Memory.getLong(wr + SWAP);
    } else if (request.opcode == rdma_h.IBV_WR_BIND_MW()) {
      request.window = window(Memory.getLong(wr + BIND_WINDOW));
      request.bindKey = Memory.getInt(wr + BIND_KEY);
      request.readBindInfo(wr + BIND_INFO);
    } else {
      request.remoteAddress = Memory.getLong(wr + RDMA_ADDRESS);
      request.remoteKey = Memory.getInt(wr + RDMA_KEY);
    }
    if (queuePair.type == rdma_h.IBV_QPT_XRC_SEND()) {
      request.sharedQueue = Memory.getInt(wr + XRC_NUMBER);
    }
    return 0;
  }

  /** Copies the header of a TSO request; the result is an errno. */
  static int takeHeader(
      SendQueue sends, SoftSendRequest request, long header, short headerSize, short segmentSize) {
    request.headerLength = Short.toUnsignedInt(headerSize);
    request.segmentSize = Short.toUnsignedInt(segmentSize);
    if (request.headerLength > sends.maxHeader) {
      return Errno.EINVAL;
    }
    long _ = ScatterList.copy(header, request.headerBuffer, request.headerLength);
    return 0;
  }

  private static boolean takeInline(SendQueue sends, SoftSendRequest request) {
    long length = request.elements.length();
    if (length > sends.maxInline) {
      return false;
    }
    request.elements.copyInline(request.inlineBuffer);
    request.inlineLength = (int) length;
    return true;
  }

  /** The address handle whose {@code ibv_ah} is at an address, or null. */
  static @Nullable SoftAddressHandle addressHandle(long address) {
    return address != 0 && Registry.byHandle(address, AH_HANDLE) instanceof SoftAddressHandle handle
        ? handle
        : null;
  }

  static SoftWindow window(long address) {
    return Registry.at(address, SoftWindow.class);
  }
}
