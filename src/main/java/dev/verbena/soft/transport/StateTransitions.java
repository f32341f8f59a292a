package dev.verbena.soft.transport;

import dev.verbena.Errno;
import dev.verbena.VerbsException;
import dev.verbena.raw.rdma_h;
import java.util.HashMap;
import java.util.List;
import java.util.Map;

/**
 * The state transitions of queue pairs, with the attributes that each requires and allows, as the
 * InfiniBand specification has them.
 */
public final class StateTransitions {
  private static final Map<String, Integer> STATES =
      Map.of(
          "RESET", rdma_h.IBV_QPS_RESET(),
          "INIT", rdma_h.IBV_QPS_INIT(),
          "RTR", rdma_h.IBV_QPS_RTR(),
          "RTS", rdma_h.IBV_QPS_RTS(),
          "SQD", rdma_h.IBV_QPS_SQD(),
          "SQE", rdma_h.IBV_QPS_SQE(),
          "ERR", rdma_h.IBV_QPS_ERR());

  private static final Map<String, Integer> TYPES =
      Map.of(
          "RC", rdma_h.IBV_QPT_RC(),
          "UC", rdma_h.IBV_QPT_UC(),
          "UD", rdma_h.IBV_QPT_UD(),
          "RAW", rdma_h.IBV_QPT_RAW_PACKET(),
          "SRD", rdma_h.IBV_QPT_DRIVER(),
          "XS", rdma_h.IBV_QPT_XRC_SEND(),
          "XR", rdma_h.IBV_QPT_XRC_RECV());

  private static final Map<String, Integer> BITS =
      Map.ofEntries(
          Map.entry("CUR_STATE", rdma_h.IBV_QP_CUR_STATE()),
          Map.entry("EN_SQD_ASYNC_NOTIFY", rdma_h.IBV_QP_EN_SQD_ASYNC_NOTIFY()),
          Map.entry("ACCESS_FLAGS", rdma_h.IBV_QP_ACCESS_FLAGS()),
          Map.entry("PKEY_INDEX", rdma_h.IBV_QP_PKEY_INDEX()),
          Map.entry("PORT", rdma_h.IBV_QP_PORT()),
          Map.entry("QKEY", rdma_h.IBV_QP_QKEY()),
          Map.entry("AV", rdma_h.IBV_QP_AV()),
          Map.entry("PATH_MTU", rdma_h.IBV_QP_PATH_MTU()),
          Map.entry("TIMEOUT", rdma_h.IBV_QP_TIMEOUT()),
          Map.entry("RETRY_CNT", rdma_h.IBV_QP_RETRY_CNT()),
          Map.entry("RNR_RETRY", rdma_h.IBV_QP_RNR_RETRY()),
          Map.entry("RQ_PSN", rdma_h.IBV_QP_RQ_PSN()),
          Map.entry("MAX_QP_RD_ATOMIC", rdma_h.IBV_QP_MAX_QP_RD_ATOMIC()),
          Map.entry("ALT_PATH", rdma_h.IBV_QP_ALT_PATH()),
          Map.entry("MIN_RNR_TIMER", rdma_h.IBV_QP_MIN_RNR_TIMER()),
          Map.entry("SQ_PSN", rdma_h.IBV_QP_SQ_PSN()),
          Map.entry("MAX_DEST_RD_ATOMIC", rdma_h.IBV_QP_MAX_DEST_RD_ATOMIC()),
          Map.entry("PATH_MIG_STATE", rdma_h.IBV_QP_PATH_MIG_STATE()),
          Map.entry("DEST_QPN", rdma_h.IBV_QP_DEST_QPN()),
          Map.entry("RATE_LIMIT", rdma_h.IBV_QP_RATE_LIMIT()));

  /** From, to, types, required attributes, optional attributes. */
  private static final String RULES =
      """
      RESET INIT : UD SRD : PKEY_INDEX PORT QKEY :
      RESET INIT : RAW : PORT :
      RESET INIT : RC UC XS XR : PKEY_INDEX PORT ACCESS_FLAGS :
      INIT INIT : UD SRD : : PKEY_INDEX PORT QKEY
      INIT INIT : RAW : : PORT
      INIT INIT : RC UC XS XR : : PKEY_INDEX PORT ACCESS_FLAGS
      INIT RTR : UD SRD : : PKEY_INDEX QKEY
      INIT RTR : RAW : :
      INIT RTR : UC XS : AV PATH_MTU DEST_QPN RQ_PSN : ALT_PATH ACCESS_FLAGS PKEY_INDEX
      INIT RTR : RC XR : AV PATH_MTU DEST_QPN RQ_PSN MAX_DEST_RD_ATOMIC MIN_RNR_TIMER \
      : ALT_PATH ACCESS_FLAGS PKEY_INDEX
      RTR RTS : UD : SQ_PSN : CUR_STATE QKEY
      RTR RTS : SRD : SQ_PSN : CUR_STATE QKEY RNR_RETRY
      RTR RTS : RAW : : RATE_LIMIT
      RTR RTS : UC : SQ_PSN : CUR_STATE ALT_PATH ACCESS_FLAGS PATH_MIG_STATE
      RTR RTS : RC XS : TIMEOUT RETRY_CNT RNR_RETRY SQ_PSN MAX_QP_RD_ATOMIC \
      : CUR_STATE ALT_PATH ACCESS_FLAGS MIN_RNR_TIMER PATH_MIG_STATE
      RTR RTS : XR : TIMEOUT SQ_PSN : CUR_STATE ALT_PATH ACCESS_FLAGS MIN_RNR_TIMER PATH_MIG_STATE
      RTS RTS : UD SRD : : CUR_STATE QKEY
      RTS RTS : RAW : : RATE_LIMIT
      RTS RTS : UC XS : : CUR_STATE ACCESS_FLAGS ALT_PATH PATH_MIG_STATE
      RTS RTS : RC XR : : CUR_STATE ACCESS_FLAGS ALT_PATH PATH_MIG_STATE MIN_RNR_TIMER
      RTS SQD : RC UC UD SRD XS XR : : EN_SQD_ASYNC_NOTIFY
      SQD RTS : UD SRD : : CUR_STATE QKEY
      SQD RTS : UC XS : : CUR_STATE ALT_PATH ACCESS_FLAGS PATH_MIG_STATE
      SQD RTS : RC XR : : CUR_STATE ALT_PATH ACCESS_FLAGS MIN_RNR_TIMER PATH_MIG_STATE
      SQD SQD : UD SRD : : PKEY_INDEX QKEY
      SQD SQD : UC : : AV ALT_PATH ACCESS_FLAGS PKEY_INDEX PATH_MIG_STATE
      SQD SQD : RC : : PORT AV TIMEOUT RETRY_CNT RNR_RETRY MAX_QP_RD_ATOMIC MAX_DEST_RD_ATOMIC \
      ALT_PATH ACCESS_FLAGS PKEY_INDEX MIN_RNR_TIMER PATH_MIG_STATE
      SQD SQD : XS : : PORT AV TIMEOUT RETRY_CNT RNR_RETRY MAX_QP_RD_ATOMIC ALT_PATH \
      ACCESS_FLAGS PKEY_INDEX PATH_MIG_STATE
      SQD SQD : XR : : PORT AV TIMEOUT MAX_DEST_RD_ATOMIC ALT_PATH ACCESS_FLAGS \
      PKEY_INDEX MIN_RNR_TIMER PATH_MIG_STATE
      SQE RTS : UD SRD : : CUR_STATE QKEY
      SQE RTS : UC : : CUR_STATE ACCESS_FLAGS
      """;

  private record Key(int from, int to, int type) {}

  private record Rule(int required, int allowed) {}

  private static final Map<Key, Rule> TABLE = read();

  private StateTransitions() {}

  private static Map<Key, Rule> read() {
    Map<Key, Rule> table = new HashMap<>();
    for (String line : RULES.lines().toList()) {
      String[] parts = line.split(":", -1);
      List<String> states = words(parts[0]);
      int required = mask(parts[2]);
      Rule rule = new Rule(required, required | mask(parts[3]));
      for (String type : words(parts[1])) {
        table.put(
            new Key(STATES.get(states.get(0)), STATES.get(states.get(1)), TYPES.get(type)), rule);
      }
    }
    return table;
  }

  private static List<String> words(String text) {
    return text.isBlank() ? List.of() : List.of(text.strip().split(" +"));
  }

  private static int mask(String names) {
    return words(names).stream().mapToInt(BITS::get).reduce(0, (a, b) -> a | b);
  }

  /**
   * Checks a call of {@code ibv_modify_qp}.
   *
   * @throws VerbsException EINVAL if there is no such transition, an attribute is missing, or one
   *     is not allowed
   */
  public static void check(int type, int from, int to, int mask) {
    if (to == rdma_h.IBV_QPS_RESET() || (to == rdma_h.IBV_QPS_ERR() && from != 0)) {
      return;
    }
    Rule rule = TABLE.get(new Key(from, to, type));
    int given = mask & ~rdma_h.IBV_QP_STATE();
    if (rule == null) {
      throw invalid("no transition from state " + from + " to " + to);
    }
    if ((given & rule.required) != rule.required) {
      throw invalid("missing attributes 0x" + Integer.toHexString(rule.required & ~given));
    }
    if ((given & ~rule.allowed) != 0) {
      throw invalid("attributes not allowed 0x" + Integer.toHexString(given & ~rule.allowed));
    }
  }

  private static VerbsException invalid(String reason) {
    return new VerbsException("ibv_modify_qp", Errno.EINVAL, reason);
  }
}
