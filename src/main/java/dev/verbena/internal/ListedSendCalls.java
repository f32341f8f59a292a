package dev.verbena.internal;

import static dev.verbena.internal.calls.SendWorkRequest.ATOMIC_KEY;
import static dev.verbena.internal.calls.SendWorkRequest.BIND_INFO;
import static dev.verbena.internal.calls.SendWorkRequest.BIND_KEY;
import static dev.verbena.internal.calls.SendWorkRequest.BIND_WINDOW;
import static dev.verbena.internal.calls.SendWorkRequest.COMPARE_ADD;
import static dev.verbena.internal.calls.SendWorkRequest.FLAGS;
import static dev.verbena.internal.calls.SendWorkRequest.IMMEDIATE;
import static dev.verbena.internal.calls.SendWorkRequest.INVALIDATED_KEY;
import static dev.verbena.internal.calls.SendWorkRequest.NUM_SGE;
import static dev.verbena.internal.calls.SendWorkRequest.OPCODE;
import static dev.verbena.internal.calls.SendWorkRequest.RDMA_ADDRESS;
import static dev.verbena.internal.calls.SendWorkRequest.RDMA_KEY;
import static dev.verbena.internal.calls.SendWorkRequest.SG_LIST;
import static dev.verbena.internal.calls.SendWorkRequest.SIZE;
import static dev.verbena.internal.calls.SendWorkRequest.SWAP;
import static dev.verbena.internal.calls.SendWorkRequest.UD_HANDLE;
import static dev.verbena.internal.calls.SendWorkRequest.UD_KEY;
import static dev.verbena.internal.calls.SendWorkRequest.UD_NUMBER;

import dev.verbena.Errno;
import dev.verbena.internal.calls.PostingStart;
import dev.verbena.internal.calls.SendWorkRequest;
import dev.verbena.internal.foreign.Abi;
import dev.verbena.internal.foreign.Call;
import dev.verbena.internal.foreign.Memory;
import dev.verbena.internal.foreign.StackSpace;
import dev.verbena.raw.ibv_qp_ex;
import dev.verbena.raw.ibv_sge;
import dev.verbena.raw.rdma_h;
import java.lang.foreign.MemorySegment;
import org.jspecify.annotations.Nullable;

/**
 * Posts an array of {@code struct ibv_send_wr} through the {@code ibv_wr_*} functions, for
 * providers whose {@code ibv_post_send} lacks operations of a transport service: libefa's posts no
 * RDMA operations, and libmlx5's nothing to DC targets. Three calls are made for each request: its
 * operation, its data, its destination.
 *
 * <p>The struct has one union for the remote memory of RDMA operations and for the destination. The
 * destination of RDMA operations is where {@code bind_mw} is, and so is each DC target.
 */
public final class ListedSendCalls {
  private static final long WR_ID = offset("wr_id");
  private static final long WR_FLAGS = offset("wr_flags");
  private static final long WR_COMPLETE = offset("wr_complete");

  private static final int INLINE = rdma_h.IBV_SEND_INLINE();

  // Constants for switch: C's values, which are part of its binary interface.
  private static final int RDMA_WRITE = 0;
  private static final int RDMA_WRITE_WITH_IMM = 1;
  private static final int SEND = 2;
  private static final int SEND_WITH_IMM = 3;
  private static final int RDMA_READ = 4;
  private static final int ATOMIC_CMP_AND_SWP = 5;
  private static final int ATOMIC_FETCH_AND_ADD = 6;
  private static final int SEND_WITH_INV = 9;

  /** How far behind {@code wr.ud} the destination of an RDMA operation is, in its layout. */
  public static final long AFTER_UD = SendWorkRequest.BIND_WINDOW - UD_HANDLE;

  /** Where a request has the address handle, the number and the access key of its DC target. */
  public static final long DC_HANDLE = BIND_WINDOW;

  public static final long DC_NUMBER = BIND_KEY;
  public static final long DC_KEY = BIND_INFO;

  private final long qpEx;
  private final @Nullable DcTargetCalls targets;
  private final boolean isCritical;
  private final @Nullable PostingStart guardedStart;
  private final MemorySegment start;
  private final MemorySegment send;
  private final MemorySegment sendImm;
  private final MemorySegment write;
  private final MemorySegment writeImm;
  private final MemorySegment read;
  private final MemorySegment sendInv;
  private final MemorySegment compareAndSwap;
  private final MemorySegment fetchAndAdd;
  private final MemorySegment setSge;
  private final MemorySegment setSgeList;
  private final MemorySegment setInlineData;
  private final MemorySegment setUdAddr;

  /** Not final: libmlx5 replaces the function when the state of the queue pair changes. */
  private MemorySegment complete;

  /**
   * Reads the pointers.
   *
   * @param qpEx the {@code ibv_qp_ex}
   * @param targets sets the DC target of a request; null: requests are addressed as datagrams are
   * @param guardedStart starts a posting; null: {@code ibv_wr_start} does
   * @param isCritical whether the functions stay in user space and never call back
   */
  public ListedSendCalls(
      long qpEx,
      @Nullable DcTargetCalls targets,
      @Nullable PostingStart guardedStart,
      boolean isCritical) {
    this.qpEx = Memory.notNull(qpEx);
    this.targets = targets;
    this.guardedStart = guardedStart;
    this.isCritical = isCritical;
    start = pointer("wr_start");
    complete = pointer("wr_complete");
    send = pointer("wr_send");
    sendImm = pointer("wr_send_imm");
    write = pointer("wr_rdma_write");
    writeImm = pointer("wr_rdma_write_imm");
    read = pointer("wr_rdma_read");
    sendInv = pointer("wr_send_inv");
    compareAndSwap = pointer("wr_atomic_cmp_swp");
    fetchAndAdd = pointer("wr_atomic_fetch_add");
    setSge = pointer("wr_set_sge");
    setSgeList = pointer("wr_set_sge_list");
    setInlineData = pointer("wr_set_inline_data");
    setUdAddr = pointer("wr_set_ud_addr");
  }

  /**
   * Posts the longest of the ranges {@code count}, {@code count / 2}, ... that fits into the queue:
   * {@code ibv_wr_complete} posts all requests or none.
   *
   * @param first the first request of the array, all of operations that the queue pair was created
   *     for
   * @param count the number of requests
   * @return the number of requests that were posted; or, if none was, the errno of {@code
   *     ibv_wr_complete} as a negative number
   */
  public int post(long first, int count) {
    int posted = count;
    int errno = Math.abs(postAll(first, posted));
    while (errno == Errno.ENOMEM && posted > 1) {
      posted /= 2;
      errno = Math.abs(postAll(first, posted));
    }
    return errno == 0 ? posted : -errno;
  }

  /** Returns the errno of {@code ibv_wr_complete}; unless it is 0, no request was posted. */
  private int postAll(long first, int count) {
    // Never critical: it waits for the lock that another thread may keep at a safepoint. The other
    // functions take no lock.
    StackSpace.requireForCall();
    if (guardedStart == null) {
      Call.plain(start, qpEx);
    } else if (!guardedStart.start()) {
      return Errno.ENOMEM;
    }
    for (int i = 0; i < count; i++) {
      long request = first + i * SIZE;
      Memory.putLong(qpEx + WR_ID, Memory.getLong(request + SendWorkRequest.WR_ID));
      int flags = Memory.getInt(request + FLAGS);
      Memory.putInt(qpEx + WR_FLAGS, flags);
      boolean isSend = operation(request);
      data(request, flags);
      if (targets == null) {
        long destination = request + (isSend ? 0 : AFTER_UD);
        call(
            setUdAddr,
            Memory.getLong(destination + UD_HANDLE),
            Memory.getInt(destination + UD_NUMBER),
            Memory.getInt(destination + UD_KEY));
      } else {
        target(targets, request);
      }
    }
    if (Memory.getLong(qpEx + WR_COMPLETE) != complete.address()) {
      complete = pointer("wr_complete");
    }
    return (int) (isCritical ? Call.critical(complete, qpEx) : Call.plain(complete, qpEx));
  }

  /** Begins a request; returns whether it is a send. */
  private boolean operation(long request) {
    int opcode = Memory.getInt(request + OPCODE);
    switch (opcode) {
      case SEND -> {
        if (isCritical) {
          Call.critical(send, qpEx);
        } else {
          Call.plain(send, qpEx);
        }
      }
      case SEND_WITH_IMM -> {
        long immediate = Memory.getInt(request + IMMEDIATE);
        if (isCritical) {
          Call.critical(sendImm, qpEx, immediate);
        } else {
          Call.plain(sendImm, qpEx, immediate);
        }
      }
      case RDMA_WRITE -> call(write, key(request), address(request));
      case RDMA_READ -> call(read, key(request), address(request));
      case RDMA_WRITE_WITH_IMM ->
          call(writeImm, key(request), address(request), Memory.getInt(request + IMMEDIATE));
      case SEND_WITH_INV -> {
        long rkey = Memory.getInt(request + INVALIDATED_KEY);
        if (isCritical) {
          Call.critical(sendInv, qpEx, rkey);
        } else {
          Call.plain(sendInv, qpEx, rkey);
        }
      }
      case ATOMIC_CMP_AND_SWP ->
          // Not critical: only the calls of most requests are.
          Call.plain(
              compareAndSwap,
              qpEx,
              Memory.getInt(request + ATOMIC_KEY),
              address(request),
              Memory.getLong(request + COMPARE_ADD),
              Memory.getLong(request + SWAP));
      case ATOMIC_FETCH_AND_ADD ->
          call(
              fetchAndAdd,
              Memory.getInt(request + ATOMIC_KEY),
              address(request),
              Memory.getLong(request + COMPARE_ADD));
      default -> throw new AssertionError("operation " + opcode); // Validated before.
    }
    return opcode == SEND || opcode == SEND_WITH_IMM;
  }

  private void target(DcTargetCalls of, long request) {
    long handle = Memory.getLong(request + DC_HANDLE);
    int number = Memory.getInt(request + DC_NUMBER);
    long key = Memory.getLong(request + DC_KEY);
    if (isCritical) {
      of.setCritical(handle, number, key);
    } else {
      of.mlx5dv_wr_set_dc_addr(handle, number, key);
    }
  }

  private void data(long request, int flags) {
    long sges = Memory.getLong(request + SG_LIST);
    int count = Memory.getInt(request + NUM_SGE);
    if ((flags & INLINE) != 0) {
      call(
          setInlineData,
          Memory.getLong(sges + ibv_sge.addr$offset()),
          Memory.getInt(sges + ibv_sge.length$offset()));
    } else if (count == 1) {
      call(
          setSge,
          Memory.getInt(sges + ibv_sge.lkey$offset()),
          Memory.getLong(sges + ibv_sge.addr$offset()),
          Memory.getInt(sges + ibv_sge.length$offset()));
    } else {
      call(setSgeList, count, sges);
    }
  }

  private static long key(long request) {
    return Memory.getInt(request + RDMA_KEY);
  }

  private static long address(long request) {
    return Memory.getLong(request + RDMA_ADDRESS);
  }

  private void call(MemorySegment function, long a, long b) {
    if (isCritical) {
      Call.critical(function, qpEx, a, b);
    } else {
      Call.plain(function, qpEx, a, b);
    }
  }

  private void call(MemorySegment function, long a, long b, long c) {
    if (isCritical) {
      Call.critical(function, qpEx, a, b, c);
    } else {
      Call.plain(function, qpEx, a, b, c);
    }
  }

  private static long offset(String field) {
    return Abi.current().offsetOf(ibv_qp_ex.layout(), field);
  }

  private MemorySegment pointer(String field) {
    return MemorySegment.ofAddress(Memory.getLong(qpEx + offset(field)));
  }
}
