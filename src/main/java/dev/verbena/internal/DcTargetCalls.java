package dev.verbena.internal;

import dev.verbena.internal.foreign.Call;
import dev.verbena.internal.foreign.Memory;
import java.lang.foreign.MemorySegment;

/** The function pointer of a {@code struct mlx5dv_qp_ex} that names the DC target of a request. */
public final class DcTargetCalls {
  private static final long SET_DC_ADDR = 8;

  private final long dvQp;
  private final MemorySegment setDcAddr;

  /**
   * Reads the pointer.
   *
   * @param functions libmlx5
   * @param qpEx the {@code ibv_qp_ex} of a DC initiator
   */
  public DcTargetCalls(Mlx5dv functions, long qpEx) {
    dvQp = Memory.notNull(functions.mlx5dv_qp_ex_from_ibv_qp_ex(Memory.notNull(qpEx)));
    setDcAddr = MemorySegment.ofAddress(Memory.notNull(Memory.getLong(dvQp + SET_DC_ADDR)));
  }

  /** Calls the inline function of the same name. */
  public void mlx5dv_wr_set_dc_addr(long ah, int remoteDctn, long remoteDcKey) {
    Call.plain(setDcAddr, dvQp, ah, remoteDctn, remoteDcKey);
  }

  /** The same as a critical call. */
  void setCritical(long ah, int remoteDctn, long remoteDcKey) {
    Call.critical(setDcAddr, dvQp, ah, remoteDctn, remoteDcKey);
  }
}
