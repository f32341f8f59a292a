package dev.verbena.efa;

import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;

/** The structs of efadv.h that this package uses: offsets and sizes on all architectures. */
final class EfaStructs {
  /** {@code struct efadv_device_attr}. */
  static final class DeviceAttr {
    static final int SIZE = 32;
    static final int MAX_SQ_WR = 8;
    static final int MAX_RQ_WR = 12;
    static final int MAX_SQ_SGE = 16;
    static final int MAX_RQ_SGE = 18;
    static final int INLINE_BUF_SIZE = 20;
    static final int INLINE_BUF_SIZE_EX = 22;
    static final int DEVICE_CAPS = 24;
    static final int MAX_RDMA_SIZE = 28;

    private DeviceAttr() {}
  }

  /** {@code struct efadv_qp_init_attr}. */
  static final class QpInitAttr {
    /** Without {@code wr_flags}, which is newer than rdma-core 63. */
    static final int SIZE = 16;

    static final int DRIVER_QP_TYPE = 8;
    static final int FLAGS = 12;
    static final int SL = 14;
    static final int SRD = 0;

    private QpInitAttr() {}
  }

  /** {@code struct efadv_cq_init_attr}. */
  static final class CqInitAttr {
    /** Without the fields for external memory, which are newer than rdma-core 58. */
    static final int SIZE = 16;

    static final int WC_FLAGS = 8;
    static final long WITH_SGID = 1;
    static final long WITH_IS_UNSOLICITED = 2;

    private CqInitAttr() {}
  }

  /** {@code struct efadv_ah_attr}. */
  static final class AhAttr {
    static final int SIZE = 16;
    static final int AHN = 8;

    private AhAttr() {}
  }

  /** {@code struct efadv_mr_attr}. */
  static final class MrAttr {
    static final int SIZE = 16;
    static final int IC_ID_VALIDITY = 8;
    static final int RECV_IC_ID = 10;
    static final int RDMA_READ_IC_ID = 12;
    static final int RDMA_RECV_IC_ID = 14;

    private MrAttr() {}
  }

  /** {@code struct efadv_sq_depth_attr}. */
  static final class SqDepthAttr {
    static final int SIZE = 24;
    static final int FLAGS = 8;
    static final int MAX_SEND_SGE = 12;
    static final int MAX_RDMA_SGE = 16;
    static final int MAX_INLINE_DATA = 20;

    private SqDepthAttr() {}
  }

  /** {@code struct efadv_rq_depth_attr}. */
  static final class RqDepthAttr {
    static final int SIZE = 16;
    static final int MAX_RECV_SGE = 8;

    private RqDepthAttr() {}
  }

  private EfaStructs() {}

  static MemorySegment allocate(Arena arena, int size) {
    return arena.allocate(size, Long.BYTES);
  }

  static int getInt(MemorySegment struct, int offset) {
    return struct.get(ValueLayout.JAVA_INT, offset);
  }

  static int getShort(MemorySegment struct, int offset) {
    return Short.toUnsignedInt(struct.get(ValueLayout.JAVA_SHORT, offset));
  }

  static void putInt(MemorySegment struct, int offset, int value) {
    struct.set(ValueLayout.JAVA_INT, offset, value);
  }
}
