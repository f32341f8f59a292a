package dev.verbena.internal.rules;

import dev.verbena.values.QueuePairAttribute;
import dev.verbena.values.QueuePairState;
import dev.verbena.values.QueuePairType;
import java.util.ArrayList;
import java.util.EnumMap;
import java.util.EnumSet;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.StringJoiner;

/**
 * The state transitions of queue pairs and the attributes that each requires and allows, for each
 * transport service: the rules of the InfiniBand specification, as the Linux kernel applies them;
 * those of DC are those of its driver {@code mlx5_ib}.
 *
 * <p>The kernel returns EINVAL for an invalid transition; {@link #explain} returns the reason.
 */
public final class StateTable {
  /** From, to, types, required attributes, optional attributes. */
  private static final String RULES =
      """
      RESET INIT : UD SRD : PKEY_INDEX PORT QKEY :
      RESET INIT : RAW_PACKET : PORT :
      RESET INIT : DC_INITIATOR : PKEY_INDEX PORT :
      RESET INIT : DC_TARGET : PKEY_INDEX PORT ACCESS_FLAGS :
      RESET INIT : RC UC XRC_SEND XRC_RECV : PKEY_INDEX PORT ACCESS_FLAGS :

      INIT INIT : UD SRD : : PKEY_INDEX PORT QKEY
      INIT INIT : DC_INITIATOR : : PKEY_INDEX PORT
      INIT INIT : RC UC XRC_SEND XRC_RECV : : PKEY_INDEX PORT ACCESS_FLAGS

      INIT RTR : UD SRD : : PKEY_INDEX QKEY
      INIT RTR : DC_INITIATOR : PATH_MTU : PKEY_INDEX AV
      INIT RTR : DC_TARGET : AV PATH_MTU MIN_RNR_TIMER :
      INIT RTR : UC XRC_SEND : AV PATH_MTU DEST_QPN RQ_PSN : ALT_PATH ACCESS_FLAGS PKEY_INDEX
      INIT RTR : RC XRC_RECV : AV PATH_MTU DEST_QPN RQ_PSN MAX_DEST_RD_ATOMIC MIN_RNR_TIMER \
      : ALT_PATH ACCESS_FLAGS PKEY_INDEX

      RTR RTS : UD : SQ_PSN : CUR_STATE QKEY
      RTR RTS : SRD : SQ_PSN : CUR_STATE QKEY RNR_RETRY
      RTR RTS : DC_INITIATOR : TIMEOUT RETRY_CNT RNR_RETRY SQ_PSN MAX_QP_RD_ATOMIC : MIN_RNR_TIMER
      RTR RTS : RAW_PACKET : : RATE_LIMIT
      RTR RTS : UC : SQ_PSN : CUR_STATE ALT_PATH ACCESS_FLAGS PATH_MIG_STATE
      RTR RTS : RC : TIMEOUT RETRY_CNT RNR_RETRY SQ_PSN MAX_QP_RD_ATOMIC \
      : CUR_STATE ALT_PATH ACCESS_FLAGS MIN_RNR_TIMER PATH_MIG_STATE
      RTR RTS : XRC_SEND : TIMEOUT RETRY_CNT RNR_RETRY SQ_PSN MAX_QP_RD_ATOMIC \
      : CUR_STATE ALT_PATH ACCESS_FLAGS PATH_MIG_STATE
      RTR RTS : XRC_RECV : TIMEOUT SQ_PSN \
      : CUR_STATE ALT_PATH ACCESS_FLAGS MIN_RNR_TIMER PATH_MIG_STATE

      RTS RTS : UD SRD : : CUR_STATE QKEY
      RTS RTS : DC_INITIATOR : : MIN_RNR_TIMER
      RTS RTS : RAW_PACKET : : RATE_LIMIT
      RTS RTS : UC XRC_SEND : : CUR_STATE ACCESS_FLAGS ALT_PATH PATH_MIG_STATE
      RTS RTS : RC XRC_RECV : : CUR_STATE ACCESS_FLAGS ALT_PATH PATH_MIG_STATE MIN_RNR_TIMER

      RTS SQD : RC UC UD SRD XRC_SEND XRC_RECV : : EN_SQD_ASYNC_NOTIFY

      SQD RTS : UD SRD : : CUR_STATE QKEY
      SQD RTS : UC XRC_SEND : : CUR_STATE ALT_PATH ACCESS_FLAGS PATH_MIG_STATE
      SQD RTS : RC XRC_RECV : : CUR_STATE ALT_PATH ACCESS_FLAGS MIN_RNR_TIMER PATH_MIG_STATE

      SQD SQD : UD SRD : : PKEY_INDEX QKEY
      SQD SQD : UC : : AV ALT_PATH ACCESS_FLAGS PKEY_INDEX PATH_MIG_STATE
      SQD SQD : RC : : PORT AV TIMEOUT RETRY_CNT RNR_RETRY MAX_QP_RD_ATOMIC MAX_DEST_RD_ATOMIC \
      ALT_PATH ACCESS_FLAGS PKEY_INDEX MIN_RNR_TIMER PATH_MIG_STATE
      SQD SQD : XRC_SEND : : PORT AV TIMEOUT RETRY_CNT RNR_RETRY MAX_QP_RD_ATOMIC ALT_PATH \
      ACCESS_FLAGS PKEY_INDEX PATH_MIG_STATE
      SQD SQD : XRC_RECV : : PORT AV TIMEOUT MAX_DEST_RD_ATOMIC ALT_PATH ACCESS_FLAGS \
      PKEY_INDEX MIN_RNR_TIMER PATH_MIG_STATE

      SQE RTS : UD SRD : : CUR_STATE QKEY
      SQE RTS : UC : : CUR_STATE ACCESS_FLAGS
      """;

  private record Rule(Set<QueuePairAttribute> required, Set<QueuePairAttribute> optional) {
    static final Rule NOTHING = new Rule(Set.of(), Set.of());
  }

  /** The rules of each type, by the current state and the new one. */
  private static final Map<QueuePairState, Map<QueuePairState, Map<QueuePairType, Rule>>> TABLE =
      read();

  private StateTable() {}

  private static Map<QueuePairState, Map<QueuePairState, Map<QueuePairType, Rule>>> read() {
    Map<QueuePairState, Map<QueuePairState, Map<QueuePairType, Rule>>> table =
        new EnumMap<>(QueuePairState.class);
    for (QueuePairState from : QueuePairState.values()) {
      table.put(from, new EnumMap<>(QueuePairState.class));
      if (from != QueuePairState.UNKNOWN) {
        table.get(from).put(QueuePairState.RESET, Map.of());
        if (from != QueuePairState.RESET) {
          table.get(from).put(QueuePairState.ERR, Map.of());
        }
      }
    }
    for (String line : RULES.split("\n", -1)) {
      if (!line.isBlank()) {
        String[] parts = line.split(":", -1);
        List<QueuePairState> states = constants(QueuePairState.class, parts[0]);
        Rule rule =
            new Rule(
                Set.copyOf(constants(QueuePairAttribute.class, parts[2])),
                Set.copyOf(constants(QueuePairAttribute.class, parts[3])));
        Map<QueuePairState, Map<QueuePairType, Rule>> destinations = table.get(states.get(0));
        destinations.putIfAbsent(states.get(1), new EnumMap<>(QueuePairType.class));
        for (QueuePairType type : constants(QueuePairType.class, parts[1])) {
          destinations.get(states.get(1)).put(type, rule);
        }
      }
    }
    return table;
  }

  private static <E extends Enum<E>> List<E> constants(Class<E> type, String names) {
    List<E> constants = new ArrayList<>();
    for (String name : names.strip().split(" ", -1)) {
      if (!name.isEmpty()) {
        constants.add(Enum.valueOf(type, name));
      }
    }
    return constants;
  }

  /**
   * Returns whether there is a transition between two states; with the same state, a change of
   * attributes.
   */
  public static boolean isTransition(QueuePairState from, QueuePairState to) {
    return TABLE.get(from).containsKey(to);
  }

  /**
   * Returns the attributes that a transition requires besides the state; none if it does not exist.
   */
  public static Set<QueuePairAttribute> required(
      QueuePairType type, QueuePairState from, QueuePairState to) {
    return rule(type, from, to).required;
  }

  /** Returns the attributes that a transition allows besides the required ones. */
  public static Set<QueuePairAttribute> optional(
      QueuePairType type, QueuePairState from, QueuePairState to) {
    return rule(type, from, to).optional;
  }

  private static Rule rule(QueuePairType type, QueuePairState from, QueuePairState to) {
    return TABLE.get(from).getOrDefault(to, Map.of()).getOrDefault(type, Rule.NOTHING);
  }

  /**
   * Returns what is wrong with a modification of a queue pair that has these attributes; empty if
   * nothing is, or the type is provider-specific.
   */
  public static Optional<String> explain(
      QueuePairType type, QueuePairState from, QueuePairState to, Set<QueuePairAttribute> given) {
    if (type == QueuePairType.DRIVER) {
      return Optional.empty();
    }
    if (!isTransition(from, to)) {
      return Optional.of(
          "there is no transition from state %s to %s; from %s there are transitions to %s"
              .formatted(from, to, from, destinations(from)));
    }
    if (type.isDynamicallyConnected() && !isOfDynamicallyConnected(type, from, to)) {
      return Optional.of(
          "%s has no transition from state %s to %s".formatted(type, from, to)
              + (type == QueuePairType.DC_TARGET
                  ? ", only those from RESET to INIT and from INIT to RTR: close it and create"
                      + " another one"
                  : ""));
    }
    Rule rule = rule(type, from, to);
    EnumSet<QueuePairAttribute> missing = inOrder(rule.required);
    missing.removeAll(given);
    EnumSet<QueuePairAttribute> excess = inOrder(given);
    excess.removeAll(rule.required);
    excess.removeAll(rule.optional);
    excess.remove(QueuePairAttribute.STATE);
    StringJoiner faults = new StringJoiner("; and ");
    if (!missing.isEmpty()) {
      faults.add("required attributes are missing: " + names(missing));
    }
    if (!excess.isEmpty()) {
      faults.add("attributes are not allowed: " + names(excess));
    }
    return faults.length() == 0
        ? Optional.empty()
        : Optional.of("for %s from state %s to %s, %s".formatted(type, from, to, faults));
  }

  /** A target cannot return to RESET, nor enter ERR. */
  private static boolean isOfDynamicallyConnected(
      QueuePairType type, QueuePairState from, QueuePairState to) {
    boolean ends = to == QueuePairState.RESET || to == QueuePairState.ERR;
    return ends ? type == QueuePairType.DC_INITIATOR : TABLE.get(from).get(to).containsKey(type);
  }

  private static EnumSet<QueuePairAttribute> inOrder(Set<QueuePairAttribute> set) {
    EnumSet<QueuePairAttribute> copy = EnumSet.noneOf(QueuePairAttribute.class);
    copy.addAll(set);
    return copy;
  }

  private static List<QueuePairState> destinations(QueuePairState from) {
    List<QueuePairState> states = new ArrayList<>(List.of(QueuePairState.values()));
    states.removeIf(to -> !isTransition(from, to));
    return states;
  }

  private static String names(Set<QueuePairAttribute> attributes) {
    StringJoiner names = new StringJoiner(", ");
    attributes.forEach(attribute -> names.add("IBV_QP_" + attribute));
    return names.toString();
  }
}
