package dev.verbena.internal.rules;

import static dev.verbena.values.QueuePairAttribute.*;
import static dev.verbena.values.QueuePairState.ERR;
import static dev.verbena.values.QueuePairState.INIT;
import static dev.verbena.values.QueuePairState.RESET;
import static dev.verbena.values.QueuePairState.RTR;
import static dev.verbena.values.QueuePairState.RTS;
import static dev.verbena.values.QueuePairState.SQD;
import static dev.verbena.values.QueuePairState.SQE;
import static dev.verbena.values.QueuePairState.UNKNOWN;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.verbena.values.QueuePairAttribute;
import dev.verbena.values.QueuePairState;
import dev.verbena.values.QueuePairType;
import java.util.Set;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

class StateTableTest {
  @Test
  void resetToInitHasItsAttributes() {
    assertEquals(
        Set.of(PKEY_INDEX, PORT, ACCESS_FLAGS), StateTable.required(QueuePairType.RC, RESET, INIT));
    assertEquals(
        Set.of(PKEY_INDEX, PORT, QKEY), StateTable.required(QueuePairType.UD, RESET, INIT));
    assertEquals(Set.of(PORT), StateTable.required(QueuePairType.RAW_PACKET, RESET, INIT));
  }

  @Test
  void initToRtrHasItsAttributes() {
    Set<QueuePairAttribute> unreliable = Set.of(AV, PATH_MTU, DEST_QPN, RQ_PSN);
    Set<QueuePairAttribute> reliable =
        Set.of(AV, PATH_MTU, DEST_QPN, RQ_PSN, MAX_DEST_RD_ATOMIC, MIN_RNR_TIMER);
    assertEquals(reliable, StateTable.required(QueuePairType.RC, INIT, RTR));
    assertEquals(reliable, StateTable.required(QueuePairType.XRC_RECV, INIT, RTR));
    assertEquals(unreliable, StateTable.required(QueuePairType.UC, INIT, RTR));
    assertEquals(unreliable, StateTable.required(QueuePairType.XRC_SEND, INIT, RTR));
    assertEquals(Set.of(), StateTable.required(QueuePairType.UD, INIT, RTR));
    assertEquals(
        Set.of(ALT_PATH, ACCESS_FLAGS, PKEY_INDEX),
        StateTable.optional(QueuePairType.RC, INIT, RTR));
  }

  @Test
  void rtrToRtsHasItsAttributes() {
    Set<QueuePairAttribute> reliable =
        Set.of(TIMEOUT, RETRY_CNT, RNR_RETRY, SQ_PSN, MAX_QP_RD_ATOMIC);
    assertEquals(reliable, StateTable.required(QueuePairType.RC, RTR, RTS));
    assertEquals(reliable, StateTable.required(QueuePairType.XRC_SEND, RTR, RTS));
    assertEquals(Set.of(TIMEOUT, SQ_PSN), StateTable.required(QueuePairType.XRC_RECV, RTR, RTS));
    assertEquals(Set.of(SQ_PSN), StateTable.required(QueuePairType.UC, RTR, RTS));
    assertEquals(Set.of(SQ_PSN), StateTable.required(QueuePairType.UD, RTR, RTS));
    assertEquals(Set.of(), StateTable.required(QueuePairType.RAW_PACKET, RTR, RTS));
  }

  @ParameterizedTest
  @EnumSource(names = "UNKNOWN", mode = EnumSource.Mode.EXCLUDE)
  void resetAndErrorAreAlwaysReached(QueuePairState from) {
    assertTrue(StateTable.isTransition(from, RESET));
    assertEquals(from != RESET, StateTable.isTransition(from, ERR));
  }

  @Test
  void transitionsOutOfOrderThrow() {
    assertFalse(StateTable.isTransition(RESET, RTR));
    assertFalse(StateTable.isTransition(INIT, RTS));
    assertFalse(StateTable.isTransition(ERR, INIT));
    assertFalse(StateTable.isTransition(RTR, SQD));
    assertFalse(StateTable.isTransition(UNKNOWN, RESET));
    assertTrue(StateTable.isTransition(RTS, SQD));
    assertTrue(StateTable.isTransition(SQD, RTS));
    assertTrue(StateTable.isTransition(SQE, RTS));
  }

  @Test
  void missingAndSuperfluousAttributesAreNamed() {
    String fault =
        StateTable.explain(
                QueuePairType.UC, INIT, RTR, Set.of(STATE, AV, PATH_MTU, DEST_QPN, MIN_RNR_TIMER))
            .orElseThrow();
    assertEquals(
        "for UC from state INIT to RTR, required attributes are missing: IBV_QP_RQ_PSN;"
            + " and attributes are not allowed: IBV_QP_MIN_RNR_TIMER",
        fault);
  }

  @Test
  void possibleTransitionsAreNamed() {
    assertEquals(
        "there is no transition from state ERR to RTS; from ERR there are transitions to [RESET,"
            + " ERR]",
        StateTable.explain(QueuePairType.RC, ERR, RTS, Set.of(STATE)).orElseThrow());
  }

  @Test
  void validTransitionHasNoExplanation() {
    assertTrue(
        StateTable.explain(QueuePairType.UD, RTR, RTS, Set.of(STATE, SQ_PSN, QKEY)).isEmpty());
    assertTrue(StateTable.explain(QueuePairType.DRIVER, RESET, RTS, Set.of(STATE)).isEmpty());
  }
}
