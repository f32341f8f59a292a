package dev.verbena.soft.functions;

import dev.verbena.Errno;
import dev.verbena.VerbsException;
import dev.verbena.internal.foreign.Abi;
import dev.verbena.internal.foreign.Memory;
import dev.verbena.internal.foreign.Upcalls;
import dev.verbena.raw.ibv_data_buf;
import dev.verbena.raw.ibv_qp_ex;
import dev.verbena.raw.rdma_h;
import dev.verbena.soft.device.CStruct;
import dev.verbena.soft.device.CallFailure;
import dev.verbena.soft.device.ScatterList;
import dev.verbena.soft.transport.QueuePairChoices;
import dev.verbena.soft.transport.SendQueue;
import dev.verbena.soft.transport.SoftQueuePair;
import dev.verbena.soft.transport.SoftSendRequest;
import dev.verbena.soft.wire.Psn;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/**
 * The functions behind the pointers of {@code struct ibv_qp_ex}: {@code ibv_wr_start}, then the
 * requests, then {@code ibv_wr_complete}, which posts them all or none.
 */
final class ExtendedPosting {
  private static final long WR_ID = Abi.current().offsetOf(ibv_qp_ex.layout(), "wr_id");
  private static final long WR_FLAGS = Abi.current().offsetOf(ibv_qp_ex.layout(), "wr_flags");

  /** In memory behind {@code struct mlx5dv_qp_ex}: the address of the {@code ibv_qp_ex}. */
  static final int OF_DC = 248;

  /** The operations, by the flag with which each is asked for. */
  private static final Map<String, Integer> OPERATIONS =
      Map.ofEntries(
          Map.entry("wr_atomic_cmp_swp", rdma_h.IBV_QP_EX_WITH_ATOMIC_CMP_AND_SWP()),
          Map.entry("wr_atomic_fetch_add", rdma_h.IBV_QP_EX_WITH_ATOMIC_FETCH_AND_ADD()),
          Map.entry("wr_atomic_write", rdma_h.IBV_QP_EX_WITH_ATOMIC_WRITE()),
          Map.entry("wr_bind_mw", rdma_h.IBV_QP_EX_WITH_BIND_MW()),
          Map.entry("wr_flush", rdma_h.IBV_QP_EX_WITH_FLUSH()),
          Map.entry("wr_local_inv", rdma_h.IBV_QP_EX_WITH_LOCAL_INV()),
          Map.entry("wr_rdma_read", rdma_h.IBV_QP_EX_WITH_RDMA_READ()),
          Map.entry("wr_rdma_write", rdma_h.IBV_QP_EX_WITH_RDMA_WRITE()),
          Map.entry("wr_rdma_write_imm", rdma_h.IBV_QP_EX_WITH_RDMA_WRITE_WITH_IMM()),
          Map.entry("wr_send", rdma_h.IBV_QP_EX_WITH_SEND()),
          Map.entry("wr_send_imm", rdma_h.IBV_QP_EX_WITH_SEND_WITH_IMM()),
          Map.entry("wr_send_inv", rdma_h.IBV_QP_EX_WITH_SEND_WITH_INV()),
          Map.entry("wr_send_tso", rdma_h.IBV_QP_EX_WITH_TSO()));

  /** Sets the pointers of a queue pair that was asked for some operations. */
  static void fill(CStruct queuePair, QueuePairChoices choices) {
    long sendOps = choices.operations();
    int type = choices.dcType() != 0 ? choices.dcType() : queuePair.getInt("qp_base.qp_type");
    if ((sendOps & ~allowed(type)) != 0) {
      throw CallFailure.of(
          Errno.EOPNOTSUPP, "send_ops_flags 0x" + Long.toHexString(sendOps & ~allowed(type)));
    }
    Pointers.fill(queuePair, OPERATIONS, sendOps);
    Pointers.fill(
        queuePair, "wr_start", "wr_complete", "wr_abort", "wr_set_sge", "wr_set_sge_list");
    Pointers.fill(queuePair, "wr_set_inline_data", "wr_set_inline_data_list");
    Pointers.fill(queuePair, "wr_set_ud_addr", "wr_set_xrc_srqn");
  }

  /** The operations of a type of queue pair. */
  private static long allowed(int type) {
    if (type == rdma_h.IBV_QPT_RAW_PACKET()) {
      return rdma_h.IBV_QP_EX_WITH_SEND() | rdma_h.IBV_QP_EX_WITH_TSO();
    }
    long datagram = rdma_h.IBV_QP_EX_WITH_SEND() | rdma_h.IBV_QP_EX_WITH_SEND_WITH_IMM();
    if (type == rdma_h.IBV_QPT_UD()) {
      return datagram;
    }
    long driver =
        datagram
            | rdma_h.IBV_QP_EX_WITH_RDMA_WRITE()
            | rdma_h.IBV_QP_EX_WITH_RDMA_WRITE_WITH_IMM()
            | rdma_h.IBV_QP_EX_WITH_RDMA_READ();
    if (type == rdma_h.IBV_QPT_DRIVER()) {
      return driver;
    }
    if (type == QueuePairChoices.DC_INITIATOR) {
      return driver
          | rdma_h.IBV_QP_EX_WITH_SEND_WITH_INV()
          | rdma_h.IBV_QP_EX_WITH_ATOMIC_CMP_AND_SWP()
          | rdma_h.IBV_QP_EX_WITH_ATOMIC_FETCH_AND_ADD();
    }
    long unreliable =
        datagram
            | rdma_h.IBV_QP_EX_WITH_SEND_WITH_INV()
            | rdma_h.IBV_QP_EX_WITH_RDMA_WRITE()
            | rdma_h.IBV_QP_EX_WITH_RDMA_WRITE_WITH_IMM()
            | rdma_h.IBV_QP_EX_WITH_BIND_MW()
            | rdma_h.IBV_QP_EX_WITH_LOCAL_INV();
    return type == rdma_h.IBV_QPT_UC()
        ? unreliable
        : unreliable
            | rdma_h.IBV_QP_EX_WITH_RDMA_READ()
            | rdma_h.IBV_QP_EX_WITH_ATOMIC_CMP_AND_SWP()
            | rdma_h.IBV_QP_EX_WITH_ATOMIC_FETCH_AND_ADD()
            | rdma_h.IBV_QP_EX_WITH_FLUSH()
            | rdma_h.IBV_QP_EX_WITH_ATOMIC_WRITE();
  }

  /** Lets {@code ibv_wr_complete} report what a function without a result cannot. */
  static void failed(Throwable t, long address) throws Throwable {
    SoftQueuePair queuePair = SoftQueuePair.at(address);
    if (queuePair != null) {
      fail(queuePair.sends, Errno.EIO);
    }
    throw t;
  }

  private static SendQueue queue(long address) {
    SoftQueuePair queuePair = SoftQueuePair.at(address);
    if (queuePair == null) {
      Upcalls.requireObject(address);
      throw new IllegalStateException("the queue pair was destroyed");
    }
    return queuePair.sends;
  }

  public static void wr_start(long address) {
    SendQueue sends = queue(address);
    sends.posting.lock();
    sends.pending = 0;
    sends.pendingError = 0;
    sends.current = null;
  }

  public static int wr_complete(long address) {
    SoftQueuePair queuePair = SoftQueuePair.at(address);
    SendQueue sends = queue(address);
    int errno = sends.pendingError;
    if (errno == 0 && sends.pending > 0 && !queuePair.takesSends()) {
      errno = Errno.EINVAL;
    }
    if (errno == 0) {
      sends.post(sends.pending);
    }
    sends.pending = 0;
    sends.posting.unlock();
    queuePair.device.engine.request(queuePair.task);
    return errno;
  }

  public static void wr_abort(long address) {
    SendQueue sends = queue(address);
    sends.pending = 0;
    sends.posting.unlock();
  }

  /** Begins a request; the result is never null, but may be one that is not posted. */
  private static SoftSendRequest begin(long address, int opcode) {
    SendQueue sends = queue(address);
    SoftQueuePair queuePair = SoftQueuePair.at(address);
    if (sends.isFull(sends.pending) || queuePair.device.queuesFull) {
      if (sends.pending == 0) {
        queuePair.explainFull();
      }
      fail(sends, Errno.ENOMEM);
      sends.current = new SoftSendRequest(1, 0, 0);
    } else {
      sends.current = sends.free(sends.pending);
      sends.pending++;
    }
    SoftSendRequest request = sends.current;
    request.wrId = Memory.getLong(address + WR_ID);
    request.flags = Memory.getInt(address + WR_FLAGS) & ~rdma_h.IBV_SEND_INLINE();
    request.opcode = opcode;
    if (!sends.takesFlags(request.flags)) {
      fail(sends, Errno.EINVAL);
    }
    return request;
  }

  private static void fail(SendQueue sends, int errno) {
    if (sends.pendingError == 0) {
      sends.pendingError = errno;
    }
  }

  /** The request that is being built, or null if something failed before. */
  private static @Nullable SoftSendRequest current(SendQueue sends) {
    if (sends.current == null) {
      fail(sends, Errno.EINVAL);
    }
    return sends.pendingError == 0 ? sends.current : null;
  }

  private static SoftSendRequest remote(long address, int opcode, int key, long remote) {
    SoftSendRequest request = begin(address, opcode);
    request.remoteKey = key;
    request.remoteAddress = remote;
    return request;
  }

  public static void wr_send(long address) {
    begin(address, rdma_h.IBV_WR_SEND());
  }

  public static void wr_send_tso(long address, long header, short headerSize, short segmentSize) {
    begin(address, rdma_h.IBV_WR_TSO());
    SendQueue sends = queue(address);
    SoftSendRequest request = current(sends); // A request that is not posted has no buffer.
    if (request != null) {
      int errno = ListPosting.takeHeader(sends, request, header, headerSize, segmentSize);
      if (errno != 0) {
        fail(sends, errno);
      }
    }
  }

  public static void wr_send_imm(long address, int immediate) {
    begin(address, rdma_h.IBV_WR_SEND_WITH_IMM()).immediate = immediate;
  }

  public static void wr_send_inv(long address, int key) {
    begin(address, rdma_h.IBV_WR_SEND_WITH_INV()).immediate = key;
  }

  public static void wr_rdma_write(long address, int key, long remote) {
    remote(address, rdma_h.IBV_WR_RDMA_WRITE(), key, remote);
  }

  public static void wr_rdma_write_imm(long address, int key, long remote, int immediate) {
    remote(address, rdma_h.IBV_WR_RDMA_WRITE_WITH_IMM(), key, remote).immediate = immediate;
  }

  public static void wr_rdma_read(long address, int key, long remote) {
    remote(address, rdma_h.IBV_WR_RDMA_READ(), key, remote);
  }

  public static void wr_atomic_cmp_swp(
      long address, int key, long remote, long compare, long swap) {
    SoftSendRequest request = remote(address, rdma_h.IBV_WR_ATOMIC_CMP_AND_SWP(), key, remote);
    request.compareAdd = compare;
    request.swap = swap;
  }

  public static void wr_atomic_fetch_add(long address, int key, long remote, long add) {
    remote(address, rdma_h.IBV_WR_ATOMIC_FETCH_AND_ADD(), key, remote).compareAdd = add;
  }

  public static void wr_atomic_write(long address, int key, long remote, long data) {
    SoftSendRequest request = remote(address, rdma_h.IBV_WR_ATOMIC_WRITE(), key, remote);
    request.atomicValue = Memory.getLong(data);
    request.hasAtomicValue = true;
  }

  public static void wr_flush(
      long address, int key, long remote, long length, byte type, byte level) {
    SoftSendRequest request = remote(address, rdma_h.IBV_WR_FLUSH(), key, remote);
    request.bindLength = length;
    request.flushType = type;
    request.flushLevel = level;
  }

  public static void wr_local_inv(long address, int key) {
    begin(address, rdma_h.IBV_WR_LOCAL_INV()).immediate = key;
  }

  public static void wr_bind_mw(long address, long mw, int key, long info) {
    SoftSendRequest request = begin(address, rdma_h.IBV_WR_BIND_MW());
    try {
      request.window = ListPosting.window(mw);
      request.bindKey = key;
      request.readBindInfo(info);
    } catch (VerbsException e) {
      fail(queue(address), e.errno());
    }
  }

  public static void wr_set_sge(long address, int key, long local, int length) {
    SendQueue sends = queue(address);
    SoftSendRequest request = current(sends);
    if (request != null) {
      request.elements.clear();
      if (request.elements.capacity() == 0) {
        fail(sends, Errno.EINVAL);
      } else {
        request.elements.add(local, length, key);
      }
    }
  }

  public static void wr_set_sge_list(long address, long count, long list) {
    SendQueue sends = queue(address);
    SoftSendRequest request = current(sends);
    if (request != null) {
      if (!sends.takesElements(request, count)) {
        fail(sends, Errno.EINVAL);
      } else {
        request.elements.read(list, (int) count);
      }
    }
  }

  public static void wr_set_inline_data(long address, long data, long length) {
    SendQueue sends = queue(address);
    SoftSendRequest request = current(sends);
    if (request != null) {
      request.inlineLength = 0;
      appendInline(sends, request, data, length);
    }
  }

  public static void wr_set_inline_data_list(long address, long count, long list) {
    SendQueue sends = queue(address);
    SoftSendRequest request = current(sends);
    if (request != null) {
      request.inlineLength = 0;
      for (long i = 0; i < count && sends.pendingError == 0; i++) {
        long buffer = list + i * ibv_data_buf.sizeof();
        appendInline(
            sends,
            request,
            Memory.getLong(buffer + ibv_data_buf.addr$offset()),
            Memory.getLong(buffer + ibv_data_buf.length$offset()));
      }
    }
  }

  private static void appendInline(
      SendQueue sends, SoftSendRequest request, long data, long length) {
    if (length < 0
        || request.inlineLength + length > sends.maxInline
        || !sends.takesInline(request)) {
      fail(sends, Errno.EINVAL);
    } else {
      long _ = ScatterList.copy(data, request.inlineBuffer + request.inlineLength, (int) length);
      request.inlineLength += (int) length;
    }
  }

  public static void wr_set_ud_addr(long address, long ah, int number, int key) {
    SendQueue sends = queue(address);
    SoftSendRequest request = current(sends);
    if (request != null) {
      request.handle = ListPosting.addressHandle(ah);
      request.remoteQueuePair = number;
      request.remoteQueueKey = key;
      if (request.handle == null) {
        fail(sends, Errno.EINVAL);
      }
    }
  }

  /** The pointer behind {@code mlx5dv_wr_set_dc_addr}. */
  public static void wr_set_dc_addr(long address, long ah, int number, long key) {
    Upcalls.requireObject(address);
    SendQueue sends = queue(Memory.getLong(address + OF_DC));
    SoftSendRequest request = current(sends);
    if (request != null) {
      request.handle = ListPosting.addressHandle(ah);
      request.remoteQueuePair = number & Psn.MASK;
      request.accessKey = key;
    }
  }

  public static void wr_set_xrc_srqn(long address, int number) {
    SoftSendRequest request = current(queue(address));
    if (request != null) {
      request.sharedQueue = number;
    }
  }
}
