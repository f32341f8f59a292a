package dev.verbena.internal.rules;

import static org.junit.jupiter.api.Assertions.assertEquals;

import dev.verbena.values.QueuePairAttribute;
import dev.verbena.values.QueuePairAttributes;
import dev.verbena.values.QueuePairState;
import dev.verbena.values.QueuePairType;
import java.util.EnumSet;
import java.util.Set;
import java.util.TreeSet;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

/** The builders of single transitions, against the table of state transitions. */
@Tag("host")
class TransitionDefaultsTest {
  /** What has no default, as only the program knows it. */
  private static final Set<QueuePairAttribute> GIVEN =
      EnumSet.of(
          QueuePairAttribute.PORT,
          QueuePairAttribute.QKEY,
          QueuePairAttribute.ACCESS_FLAGS,
          QueuePairAttribute.AV,
          QueuePairAttribute.PATH_MTU,
          QueuePairAttribute.DEST_QPN,
          QueuePairAttribute.RQ_PSN,
          QueuePairAttribute.SQ_PSN);

  @ParameterizedTest
  @EnumSource(mode = EnumSource.Mode.EXCLUDE, names = "DRIVER")
  void whatIsRequiredIsGivenOrHasADefault(QueuePairType type) {
    assertDefaults(type, QueuePairState.RESET, QueuePairAttributes.toInit(type));
    assertDefaults(type, QueuePairState.INIT, QueuePairAttributes.toReadyToReceive(type));
    if (type != QueuePairType.DC_TARGET) { // RTR is its last state.
      assertDefaults(type, QueuePairState.RTR, QueuePairAttributes.toReadyToSend(type));
    }
  }

  private static void assertDefaults(
      QueuePairType type, QueuePairState from, QueuePairAttributes.Builder builder) {
    QueuePairAttributes attributes = builder.build();
    Set<QueuePairAttribute> expected =
        new TreeSet<>(StateTable.required(type, from, attributes.state()));
    expected.removeAll(GIVEN);
    expected.add(QueuePairAttribute.STATE);
    assertEquals(expected, attributes.mask(), () -> type + " from " + from);
  }
}
