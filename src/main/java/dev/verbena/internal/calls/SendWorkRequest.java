package dev.verbena.internal.calls;

import dev.verbena.raw.ibv_send_wr;

/**
 * The offsets of the fields of a send request ({@code struct ibv_send_wr}), most of which are in
 * unions of nested structs.
 */
public final class SendWorkRequest {
  public static final long SIZE = ibv_send_wr.sizeof();
  public static final long WR_ID = ibv_send_wr.wr_id$offset();
  public static final long NEXT = ibv_send_wr.next$offset();
  public static final long SG_LIST = ibv_send_wr.sg_list$offset();
  public static final long NUM_SGE = ibv_send_wr.num_sge$offset();
  public static final long OPCODE = ibv_send_wr.opcode$offset();
  public static final long FLAGS = ibv_send_wr.send_flags$offset();
  public static final long IMMEDIATE = ibv_send_wr.imm_data$offset();
  public static final long INVALIDATED_KEY = ibv_send_wr.invalidate_rkey$offset();

  private static final long RDMA = ibv_send_wr.wr$offset() + ibv_send_wr.wr.rdma$offset();
  public static final long RDMA_ADDRESS = RDMA + ibv_send_wr.wr.rdma.remote_addr$offset();
  public static final long RDMA_KEY = RDMA + ibv_send_wr.wr.rdma.rkey$offset();

  private static final long ATOMIC = ibv_send_wr.wr$offset() + ibv_send_wr.wr.atomic$offset();
  public static final long ATOMIC_ADDRESS = ATOMIC + ibv_send_wr.wr.atomic.remote_addr$offset();
  public static final long ATOMIC_KEY = ATOMIC + ibv_send_wr.wr.atomic.rkey$offset();
  public static final long COMPARE_ADD = ATOMIC + ibv_send_wr.wr.atomic.compare_add$offset();
  public static final long SWAP = ATOMIC + ibv_send_wr.wr.atomic.swap$offset();

  private static final long UD = ibv_send_wr.wr$offset() + ibv_send_wr.wr.ud$offset();
  public static final long UD_HANDLE = UD + ibv_send_wr.wr.ud.ah$offset();
  public static final long UD_NUMBER = UD + ibv_send_wr.wr.ud.remote_qpn$offset();
  public static final long UD_KEY = UD + ibv_send_wr.wr.ud.remote_qkey$offset();

  public static final long XRC_NUMBER =
      ibv_send_wr.qp_type$offset()
          + ibv_send_wr.qp_type.xrc$offset()
          + ibv_send_wr.qp_type.xrc.remote_srqn$offset();

  private static final long BIND = ibv_send_wr.bind_mw$offset();
  public static final long BIND_WINDOW = BIND + ibv_send_wr.bind_mw.mw$offset();
  public static final long BIND_KEY = BIND + ibv_send_wr.bind_mw.rkey$offset();
  public static final long BIND_INFO = BIND + ibv_send_wr.bind_mw.bind_info$offset();

  private static final long TSO = ibv_send_wr.tso$offset();
  public static final long TSO_HEADER = TSO + ibv_send_wr.tso.hdr$offset();
  public static final long TSO_HEADER_SIZE = TSO + ibv_send_wr.tso.hdr_sz$offset();
  public static final long TSO_SEGMENT_SIZE = TSO + ibv_send_wr.tso.mss$offset();

  private SendWorkRequest() {}
}
