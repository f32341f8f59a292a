package dev.verbena.soft.device;

import dev.verbena.Errno;
import dev.verbena.VerbsException;
import dev.verbena.raw.rdma_h;
import java.util.Arrays;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;

/**
 * The limits and the refusals of a named device, which a software device takes over: what it
 * reports, what cannot be created or posted on it, and with which errno. {@link #TABLE} has them
 * with their sources. What a device does with messages is not part of a profile.
 */
public final class Profile {
  /** The software device itself. */
  public static final Profile NONE = new Profile("");

  /**
   * {@code limit} is a field of {@code struct ibv_device_attr}, {@code max_inline_data}, the SGEs
   * of a queue where they differ, or {@code gid_tbl_len}; {@code types} the queue pairs that can be
   * created, {@code posts} the send requests, {@code access} the access flags of memory regions;
   * {@code refuses} are C functions with the errno; {@code iwarp} means that the device reports
   * iWARP, and only RDMA CM connects queue pairs; {@code mlx5} that it has DC. What is not listed
   * is not limited.
   */
  private static final String TABLE =
      """
      profile connectx5
      # ibv_devinfo -v of a part 4119: https://github.com/openucx/ucx/issues/9830, and of a part
      # 4121 (with max_qp 131072): https://github.com/ofiwg/libfabric/issues/8256
      limit max_qp 262144
      limit max_qp_wr 32768
      limit max_sge 30
      limit max_sge_rd 30
      limit max_cqe 4194303
      limit max_qp_rd_atom 16
      limit max_qp_init_rd_atom 16
      limit max_srq_wr 32767
      limit max_srq_sge 31
      mlx5

      profile connectx7
      # The same driver and provider; no published output was found. The numbers are those of a
      # ConnectX-6 Lx, part 4127: https://github.com/openucx/ucx/issues/10317
      limit max_qp 131072
      limit max_qp_wr 32768
      limit max_sge 30
      limit max_sge_rd 30
      limit max_cqe 4194303
      limit max_qp_rd_atom 16
      limit max_qp_init_rd_atom 16
      limit max_srq_wr 32767
      limit max_srq_sge 31
      mlx5

      profile efa
      # Linux drivers/infiniband/hw/efa/efa_verbs.c, rdma-core providers/efa/verbs.c. The device
      # reports the numbers, of which no output of ibv_devinfo -v was found: they are those of the
      # emulated EFA (src/nic). Published: 4096 send requests on p5.48xlarge, 2048 on p6-b300
      # (https://github.com/kvcache-ai/Mooncake/pull/3296), 8192 receive requests
      # (https://github.com/ofiwg/libfabric/pull/11337), 32 bytes of inline data
      # (https://github.com/ofiwg/libfabric/pull/12858).
      limit max_qp 256
      limit max_qp_wr 512
      limit max_sge 2
      limit max_sge_rd 1
      limit max_cqe 32768
      limit max_inline_data 32
      limit max_ah 256
      limit max_srq 0
      limit max_mw 0
      limit atomic_cap 0
      limit max_qp_rd_atom 0
      limit max_qp_init_rd_atom 0
      limit max_mcast_grp 0
      limit gid_tbl_len 1
      types UD SRD
      posts SEND SEND_WITH_IMM
      access LOCAL_WRITE REMOTE_WRITE REMOTE_READ
      refuses ibv_create_srq EOPNOTSUPP
      refuses ibv_create_srq_ex EOPNOTSUPP
      refuses ibv_alloc_mw EOPNOTSUPP
      refuses ibv_attach_mcast EOPNOTSUPP
      refuses ibv_rereg_mr EOPNOTSUPP
      refuses ibv_resize_cq EOPNOTSUPP
      refuses ibv_open_xrcd EOPNOTSUPP

      profile irdma
      # ibv_devinfo -v of an E810: https://github.com/deepseek-ai/3FS/issues/192; types and
      # requests: rdma-core providers/irdma/uverbs.c. In RoCE mode.
      limit max_qp 4092
      limit max_qp_wr 8127
      limit max_sge 6
      limit max_sge_rd 6
      limit max_cqe 1048574
      limit max_qp_rd_atom 8
      limit max_qp_init_rd_atom 8
      limit max_inline_data 101
      limit max_ah 131072
      limit max_srq 0
      limit max_mw 0
      limit atomic_cap 0
      types RC UD
      posts SEND SEND_WITH_IMM SEND_WITH_INV RDMA_WRITE RDMA_WRITE_WITH_IMM RDMA_READ LOCAL_INV BIND_MW
      refuses ibv_create_srq EOPNOTSUPP
      refuses ibv_create_srq_ex EOPNOTSUPP
      refuses ibv_open_xrcd EOPNOTSUPP

      profile erdma
      # Linux drivers/infiniband/hw/erdma/erdma_verbs.h (ERDMA_MAX_SEND_SGE, ERDMA_MAX_RECV_SGE,
      # ERDMA_MAX_INLINE, ERDMA_MAX_SEND_WR, ERDMA_MAX_ORD), erdma_verbs.c (erdma_query_device,
      # erdma_qp_validate_attr); rdma-core providers/erdma/erdma_verbs.c. In iWARP mode. The kernel
      # reports the smaller number of SGEs as max_sge. What the device reports itself (max_qp,
      # max_cqe, max_mw, atomic operations) is not known; neither memory windows nor address handles
      # are among the functions of the driver.
      limit max_sge 1
      limit max_send_sge 6
      limit max_recv_sge 1
      limit max_qp_wr 8192
      limit max_qp_rd_atom 128
      limit max_qp_init_rd_atom 128
      limit max_sge_rd 1
      limit max_inline_data 96
      limit max_srq 0
      limit max_mw 0
      limit max_ah 0
      limit max_mcast_grp 0
      types RC
      posts SEND SEND_WITH_IMM SEND_WITH_INV RDMA_WRITE RDMA_WRITE_WITH_IMM RDMA_READ ATOMIC_CMP_AND_SWP ATOMIC_FETCH_AND_ADD
      refuses ibv_create_srq EOPNOTSUPP
      refuses ibv_create_srq_ex EOPNOTSUPP
      refuses ibv_alloc_mw EOPNOTSUPP
      refuses ibv_create_ah EOPNOTSUPP
      refuses ibv_attach_mcast EOPNOTSUPP
      refuses ibv_open_xrcd EOPNOTSUPP
      iwarp

      profile siw
      # Linux drivers/infiniband/sw/siw/siw.h (SIW_MAX_*), include/uapi/rdma/siw-abi.h (SIW_MAX_SGE),
      # siw_verbs.c; rdma-core providers/siw/siw.c.
      limit max_qp 102400
      limit max_qp_wr 32768
      limit max_sge 6
      limit max_sge_rd 1
      limit max_cqe 3276800
      limit max_qp_rd_atom 128
      limit max_qp_init_rd_atom 128
      limit max_mw 0
      limit max_ah 0
      limit atomic_cap 0
      limit max_mcast_grp 0
      types RC
      posts SEND SEND_WITH_INV RDMA_WRITE RDMA_READ
      refuses ibv_alloc_mw EOPNOTSUPP
      refuses ibv_create_ah EOPNOTSUPP
      refuses ibv_attach_mcast EOPNOTSUPP
      refuses ibv_open_xrcd EOPNOTSUPP
      iwarp

      profile rxe
      # Linux drivers/infiniband/sw/rxe/rxe_param.h (RXE_MAX_*) before Linux 5.19, the output of
      # ibv_devinfo -v in https://github.com/openucx/ucx/issues/5045; newer kernels allow more of most
      # objects. rdma-core providers/rxe/rxe.c.
      limit max_qp 65536
      limit max_qp_wr 16384
      limit max_sge 32
      limit max_sge_rd 32
      limit max_cqe 32767
      limit max_qp_rd_atom 128
      limit max_qp_init_rd_atom 128
      limit max_inline_data 400
      limit max_srq_wr 16384
      limit max_srq_sge 27
      types RC UC UD
      refuses ibv_open_xrcd EOPNOTSUPP
      """;

  /** Limits that are no field of {@code struct ibv_device_attr}. */
  private static final Set<String> OTHER_LIMITS =
      Set.of("max_inline_data", "gid_tbl_len", "max_send_sge", "max_recv_sge");

  private static final Map<String, Integer> TYPES =
      Map.of(
          "RC", rdma_h.IBV_QPT_RC(),
          "UC", rdma_h.IBV_QPT_UC(),
          "UD", rdma_h.IBV_QPT_UD(),
          "SRD", rdma_h.IBV_QPT_DRIVER());

  private static final Map<String, Integer> REQUESTS =
      Map.of(
          "SEND", rdma_h.IBV_WR_SEND(),
          "SEND_WITH_IMM", rdma_h.IBV_WR_SEND_WITH_IMM(),
          "SEND_WITH_INV", rdma_h.IBV_WR_SEND_WITH_INV(),
          "RDMA_WRITE", rdma_h.IBV_WR_RDMA_WRITE(),
          "RDMA_WRITE_WITH_IMM", rdma_h.IBV_WR_RDMA_WRITE_WITH_IMM(),
          "RDMA_READ", rdma_h.IBV_WR_RDMA_READ(),
          "ATOMIC_CMP_AND_SWP", rdma_h.IBV_WR_ATOMIC_CMP_AND_SWP(),
          "ATOMIC_FETCH_AND_ADD", rdma_h.IBV_WR_ATOMIC_FETCH_AND_ADD(),
          "LOCAL_INV", rdma_h.IBV_WR_LOCAL_INV(),
          "BIND_MW", rdma_h.IBV_WR_BIND_MW());

  private static final Map<String, Integer> ACCESS =
      Map.of(
          "LOCAL_WRITE", rdma_h.IBV_ACCESS_LOCAL_WRITE(),
          "REMOTE_WRITE", rdma_h.IBV_ACCESS_REMOTE_WRITE(),
          "REMOTE_READ", rdma_h.IBV_ACCESS_REMOTE_READ());

  private static final Map<String, Integer> ERRNO = Map.of("EOPNOTSUPP", Errno.EOPNOTSUPP);

  private static final Map<String, Profile> ALL = read();

  /** Whether RDMA CM modifies a queue pair in this thread. */
  private static final ThreadLocal<Boolean> CONNECTING = ThreadLocal.withInitial(() -> false);

  private final String name;
  private final Map<String, Integer> limits = new LinkedHashMap<>();
  private final Set<Integer> types = new LinkedHashSet<>();
  private final Set<Integer> requests = new LinkedHashSet<>();
  private final Map<String, Integer> refusals = new HashMap<>();
  private int access;
  private boolean isIwarp;
  private boolean isMlx5;

  private Profile(String name) {
    this.name = name;
  }

  private static Map<String, Profile> read() {
    Map<String, Profile> all = new TreeMap<>();
    Profile last = NONE;
    for (String line : TABLE.lines().toList()) {
      List<String> words = Arrays.asList(line.strip().split(" +"));
      List<String> values = words.subList(1, words.size());
      switch (words.getFirst()) {
        case "profile" -> {
          last = new Profile(values.getFirst());
          all.put(last.name, last);
        }
        case "limit" -> last.limits.put(values.get(0), Integer.valueOf(values.get(1)));
        case "types" -> values.stream().map(TYPES::get).forEach(last.types::add);
        case "posts" -> values.stream().map(REQUESTS::get).forEach(last.requests::add);
        case "access" -> last.access = values.stream().mapToInt(ACCESS::get).sum();
        case "refuses" -> last.refusals.put(values.get(0), ERRNO.get(values.get(1)));
        case "iwarp" -> last.isIwarp = true;
        case "mlx5" -> last.isMlx5 = true;
        case "", "#" -> {}
        default -> throw new AssertionError(line);
      }
    }
    return all;
  }

  /**
   * Returns a profile by its name.
   *
   * @throws IllegalArgumentException if there is none
   */
  public static Profile named(String name) {
    Profile profile = ALL.get(name);
    if (profile == null) {
      throw new IllegalArgumentException("no profile '" + name + "': there are " + ALL.keySet());
    }
    return profile;
  }

  /** Returns the names of all profiles. */
  public static Set<String> names() {
    return ALL.keySet();
  }

  @Override
  public String toString() {
    return name;
  }

  /** Returns the smaller of a limit and that of the software device. */
  public int limit(String field, int own) {
    return Math.min(limits.getOrDefault(field, own), own);
  }

  /** Returns whether a value is limited. */
  public boolean limits(String field) {
    return limits.containsKey(field);
  }

  /** Replaces the attributes of the software device by the smaller ones of the profile. */
  public void limit(CStruct attributes) {
    for (Map.Entry<String, Integer> limit : limits.entrySet()) {
      if (!OTHER_LIMITS.contains(limit.getKey())) {
        attributes.putInt(limit.getKey(), limit(limit.getKey(), attributes.getInt(limit.getKey())));
      }
    }
  }

  private VerbsException refusal(int errno, String what) {
    return CallFailure.of(errno, "the software device has the profile " + name + ": " + what);
  }

  /** Throws if the device does not have a function. */
  public void requireFunction(String function) {
    Integer errno = refusals.get(function);
    if (errno != null) {
      throw refusal(errno, "it does not support this function");
    }
  }

  /** Throws if the device does not have a type of queue pair. */
  public void requireType(int type) {
    if (!types.isEmpty() && !types.contains(type)) {
      throw refusal(
          Errno.EOPNOTSUPP, "its queue pairs are " + names(TYPES, types) + ", not " + type);
    }
  }

  /**
   * Throws if RDMA CM does not use the device, as the kernel does for a port without its messages.
   */
  public void requireCm() {
    if (isEfa()) {
      throw refusal(Errno.ENODEV, "RDMA CM does not use an EFA");
    }
  }

  /** Returns whether the device is one of iWARP, whose queue pairs RDMA CM alone connects. */
  public boolean isIwarp() {
    return isIwarp;
  }

  /** Returns whether the device is an EFA, which has SRD queue pairs. */
  public boolean isEfa() {
    return types.contains(rdma_h.IBV_QPT_DRIVER());
  }

  /** Returns whether the device is one of mlx5, which has queue pairs of DC. */
  public boolean isMlx5() {
    return isMlx5;
  }

  /** Throws if a region cannot have access flags; the optional ones are ignored. */
  public void requireAccess(int flags) {
    if (access != 0 && (flags & ~rdma_h.IBV_ACCESS_OPTIONAL_RANGE() & ~access) != 0) {
      throw refusal(Errno.EOPNOTSUPP, "access flags 0x" + Integer.toHexString(flags & ~access));
    }
  }

  /** Throws if only RDMA CM connects queue pairs, and another modifies one. */
  public void requireConnection(int state) {
    boolean connects = state == rdma_h.IBV_QPS_RTR() || state == rdma_h.IBV_QPS_RTS();
    if (isIwarp && connects && !CONNECTING.get()) {
      throw refusal(
          Errno.EINVAL,
          "it is an iWARP device, whose queue pairs are connected by RDMA CM (rdma_connect,"
              + " rdma_accept) only");
    }
  }

  /** Modifies a queue pair as RDMA CM. */
  public static void connecting(Runnable modification) {
    CONNECTING.set(true);
    try {
      modification.run();
    } finally {
      CONNECTING.remove();
    }
  }

  /** Returns whether a send request can be posted; if not, posting it fails with EINVAL. */
  public boolean posts(int opcode) {
    return requests.isEmpty() || requests.contains(opcode);
  }

  private static List<String> names(Map<String, Integer> table, Set<Integer> values) {
    return table.entrySet().stream()
        .filter(entry -> values.contains(entry.getValue()))
        .map(Map.Entry::getKey)
        .sorted()
        .toList();
  }
}
