package dev.verbena.soft.transport;

import dev.verbena.VerbsException;
import dev.verbena.raw.rdma_h;
import dev.verbena.soft.device.CallFailure;
import java.util.Arrays;
import java.util.HashMap;
import java.util.List;
import java.util.Map;

/**
 * The state transitions of queue pairs, with the attributes that each requires and allows: the
 * table of the InfiniBand specification, as {@code ib_modify_qp_is_ok} of Linux has it, and for SRD
 * and DC those of the drivers of EFA and mlx5.
 *
 * <p>A transition concerns some attributes, and a service has some; what concerns both is required
 * or allowed, with the exceptions in {@link #allowed}.
 */
public final class StateTransitions {
  /** The bits of the attributes, by their fields of {@code struct ibv_qp_attr}. */
  public static final Map<String, Integer> ATTRIBUTES =
      Map.ofEntries(
          Map.entry("cur_qp_state", rdma_h.IBV_QP_CUR_STATE()),
          Map.entry("en_sqd_async_notify", rdma_h.IBV_QP_EN_SQD_ASYNC_NOTIFY()),
          Map.entry("qp_access_flags", rdma_h.IBV_QP_ACCESS_FLAGS()),
          Map.entry("pkey_index", rdma_h.IBV_QP_PKEY_INDEX()),
          Map.entry("port_num", rdma_h.IBV_QP_PORT()),
          Map.entry("qkey", rdma_h.IBV_QP_QKEY()),
          Map.entry("ah_attr", rdma_h.IBV_QP_AV()),
          Map.entry("path_mtu", rdma_h.IBV_QP_PATH_MTU()),
          Map.entry("timeout", rdma_h.IBV_QP_TIMEOUT()),
          Map.entry("retry_cnt", rdma_h.IBV_QP_RETRY_CNT()),
          Map.entry("rnr_retry", rdma_h.IBV_QP_RNR_RETRY()),
          Map.entry("rq_psn", rdma_h.IBV_QP_RQ_PSN()),
          Map.entry("max_rd_atomic", rdma_h.IBV_QP_MAX_QP_RD_ATOMIC()),
          Map.entry("alt_ah_attr", rdma_h.IBV_QP_ALT_PATH()),
          Map.entry("min_rnr_timer", rdma_h.IBV_QP_MIN_RNR_TIMER()),
          Map.entry("sq_psn", rdma_h.IBV_QP_SQ_PSN()),
          Map.entry("max_dest_rd_atomic", rdma_h.IBV_QP_MAX_DEST_RD_ATOMIC()),
          Map.entry("path_mig_state", rdma_h.IBV_QP_PATH_MIG_STATE()),
          Map.entry("dest_qp_num", rdma_h.IBV_QP_DEST_QPN()),
          Map.entry("rate_limit", rdma_h.IBV_QP_RATE_LIMIT()));

  private static final int DATAGRAM =
      bits("pkey_index port_num qkey sq_psn cur_qp_state en_sqd_async_notify");
  private static final int CONNECTED =
      bits("pkey_index port_num qp_access_flags sq_psn cur_qp_state en_sqd_async_notify")
          | bits("ah_attr path_mtu dest_qp_num rq_psn alt_ah_attr path_mig_state");
  private static final int REQUESTER = bits("timeout retry_cnt rnr_retry max_rd_atomic");
  private static final int RESPONDER = bits("timeout min_rnr_timer max_dest_rd_atomic");

  /** The attributes of each service: XRC has the two ends of a reliable connection apart. */
  private static final Map<Integer, Integer> SERVICES =
      Map.of(
          rdma_h.IBV_QPT_RC(),
          CONNECTED | REQUESTER | RESPONDER,
          rdma_h.IBV_QPT_UC(),
          CONNECTED,
          rdma_h.IBV_QPT_XRC_SEND(),
          CONNECTED | REQUESTER,
          rdma_h.IBV_QPT_XRC_RECV(),
          CONNECTED | RESPONDER,
          rdma_h.IBV_QPT_UD(),
          DATAGRAM,
          rdma_h.IBV_QPT_DRIVER(),
          DATAGRAM,
          rdma_h.IBV_QPT_RAW_PACKET(),
          bits("port_num rate_limit"));

  /** In the order of {@code enum ibv_qp_state}. */
  private static final List<String> STATES =
      List.of("RESET", "INIT", "RTR", "RTS", "SQD", "SQE", "ERR");

  /** From, to, the attributes that are required, and those that are allowed. */
  private static final String TABLE =
      """
      RESET INIT : pkey_index port_num qkey qp_access_flags :
      INIT INIT : : pkey_index port_num qkey qp_access_flags
      INIT RTR : ah_attr path_mtu dest_qp_num rq_psn max_dest_rd_atomic min_rnr_timer \
      : pkey_index qkey qp_access_flags alt_ah_attr
      RTR RTS : sq_psn timeout retry_cnt rnr_retry max_rd_atomic : cur_qp_state qkey \
      qp_access_flags min_rnr_timer alt_ah_attr path_mig_state rate_limit
      RTS RTS : : cur_qp_state qkey qp_access_flags min_rnr_timer alt_ah_attr path_mig_state \
      rate_limit
      RTS SQD : : en_sqd_async_notify
      SQD RTS : : cur_qp_state qkey qp_access_flags min_rnr_timer alt_ah_attr path_mig_state
      SQD SQD : : pkey_index port_num qkey qp_access_flags ah_attr alt_ah_attr path_mig_state \
      timeout retry_cnt rnr_retry max_rd_atomic min_rnr_timer max_dest_rd_atomic
      SQE RTS : : cur_qp_state qkey qp_access_flags
      """;

  /** Of DC: mlx5's {@code modify_dci_qp_is_ok}. */
  private static final String DC_INITIATOR =
      """
      RESET INIT : pkey_index port_num :
      INIT INIT : : pkey_index port_num
      INIT RTR : path_mtu : pkey_index ah_attr
      RTR RTS : sq_psn timeout retry_cnt rnr_retry max_rd_atomic : min_rnr_timer
      RTS RTS : : min_rnr_timer
      """;

  /** Of DC: {@code mlx5_ib_modify_dct}. A target ends with its destruction. */
  private static final String DC_TARGET =
      """
      RESET INIT : pkey_index port_num qp_access_flags :
      INIT RTR : ah_attr path_mtu min_rnr_timer :
      """;

  private record Transition(int from, int to) {}

  private record Attributes(int required, int allowed) {}

  private static final Map<Transition, Attributes> TRANSITIONS = read(TABLE, true);

  private static final Map<Integer, Map<Transition, Attributes>> OF_DC =
      Map.of(
          QueuePairChoices.DC_INITIATOR,
          read(DC_INITIATOR, true),
          QueuePairChoices.DC_TARGET,
          read(DC_TARGET, false));

  private StateTransitions() {}

  private static Map<Transition, Attributes> read(String table, boolean ends) {
    Map<Transition, Attributes> transitions = new HashMap<>();
    for (int state = 0; ends && state < STATES.size(); state++) {
      transitions.put(new Transition(state, STATES.indexOf("RESET")), new Attributes(0, 0));
      if (state != STATES.indexOf("RESET")) {
        transitions.put(new Transition(state, STATES.indexOf("ERR")), new Attributes(0, 0));
      }
    }
    for (String line : table.lines().toList()) {
      String[] parts = line.split(":", -1);
      String[] states = parts[0].split(" ", -1);
      transitions.put(
          new Transition(STATES.indexOf(states[0]), STATES.indexOf(states[1])),
          new Attributes(bits(parts[1]), bits(parts[2])));
    }
    return transitions;
  }

  private static int bits(String names) {
    return Arrays.stream(names.split(" ", -1))
        .filter(name -> !name.isEmpty())
        .mapToInt(ATTRIBUTES::get)
        .reduce(0, (a, b) -> a | b);
  }

  /** The attributes that a transition allows to a service besides those that it requires. */
  private static int allowed(int type, int from, Attributes attributes) {
    int own = SERVICES.get(type);
    int allowed = attributes.allowed & own;
    boolean reliable = (own & rdma_h.IBV_QP_TIMEOUT()) != 0;
    if (from == rdma_h.IBV_QPS_SQE() && reliable) {
      return 0; // It is never in this state: its errors lead to ERR.
    } else if (type == rdma_h.IBV_QPT_DRIVER()) {
      allowed |= attributes.required & rdma_h.IBV_QP_RNR_RETRY();
    }
    // The port can be replaced before it is used, and with the path of a reliable connection.
    boolean replaced =
        from == rdma_h.IBV_QPS_INIT() ? type != rdma_h.IBV_QPT_RAW_PACKET() : reliable;
    return replaced ? allowed : allowed & ~rdma_h.IBV_QP_PORT();
  }

  /**
   * Checks a call of {@code ibv_modify_qp}.
   *
   * @throws VerbsException EINVAL if there is no such transition, an attribute is missing, or one
   *     is not allowed
   */
  public static void check(int type, int from, int to, int mask) {
    boolean isDc = OF_DC.containsKey(type);
    Attributes attributes = OF_DC.getOrDefault(type, TRANSITIONS).get(new Transition(from, to));
    if (attributes == null) {
      throw CallFailure.invalid("no transition from state " + from + " to " + to);
    }
    int required = isDc ? attributes.required : attributes.required & SERVICES.get(type);
    int given = mask & ~rdma_h.IBV_QP_STATE();
    CallFailure.invalidIf(
        (given & required) != required,
        "missing attributes 0x" + Integer.toHexString(required & ~given));
    int allowed = isDc ? attributes.allowed : allowed(type, from, attributes);
    int excess = given & ~required & ~allowed;
    CallFailure.invalidIf(excess != 0, "attributes not allowed 0x" + Integer.toHexString(excess));
  }
}
