package dev.verbena.soft.transport;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;

import dev.verbena.Errno;
import dev.verbena.VerbsException;
import dev.verbena.internal.rules.StateTable;
import dev.verbena.values.QueuePairAttribute;
import dev.verbena.values.QueuePairState;
import dev.verbena.values.QueuePairType;
import java.util.EnumSet;
import java.util.Set;
import java.util.TreeSet;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

/**
 * The device allows what {@link StateTable} explains to the program: two tables of one
 * specification, made apart.
 */
class StateTransitionsTest {
  private static boolean isAllowed(
      QueuePairType type, QueuePairState from, QueuePairState to, Set<QueuePairAttribute> given) {
    int mask = given.stream().mapToInt(each -> (int) each.bit()).reduce(0, (a, b) -> a | b);
    try {
      StateTransitions.check(type.code(), from.code(), to.code(), mask);
      return true;
    } catch (VerbsException e) {
      assertEquals(Errno.EINVAL, e.errno());
      return false;
    }
  }

  @ParameterizedTest
  @EnumSource(
      value = QueuePairType.class,
      names = {"DC_INITIATOR", "DC_TARGET", "DRIVER"},
      mode = EnumSource.Mode.EXCLUDE)
  void tablesAgree(QueuePairType type) {
    Set<String> differences = new TreeSet<>();
    Set<QueuePairState> states = EnumSet.complementOf(EnumSet.of(QueuePairState.UNKNOWN));
    for (QueuePairState from : states) {
      for (QueuePairState to : states) {
        Set<QueuePairAttribute> required = StateTable.required(type, from, to);
        Set<QueuePairAttribute> optional = StateTable.optional(type, from, to);
        Set<QueuePairAttribute> all = EnumSet.of(QueuePairAttribute.STATE);
        all.addAll(required);
        all.addAll(optional);
        String transition = type + " " + from + " " + to;
        if (isAllowed(type, from, to, all) != StateTable.isTransition(from, to)) {
          differences.add(transition);
        }
        for (QueuePairAttribute one : EnumSet.complementOf(EnumSet.of(QueuePairAttribute.STATE))) {
          Set<QueuePairAttribute> changed = EnumSet.copyOf(all);
          boolean removed = changed.remove(one) || !changed.add(one);
          boolean isExpected = StateTable.isTransition(from, to) && optional.contains(one);
          if (isAllowed(type, from, to, changed) != isExpected) {
            differences.add(transition + (removed ? " without " : " with ") + one);
          }
        }
      }
    }
    assertEquals(Set.of(), differences);
  }

  @Test
  void transitionsOutOfOrderAreRefused() {
    Set<QueuePairAttribute> state = EnumSet.of(QueuePairAttribute.STATE);
    assertFalse(isAllowed(QueuePairType.RC, QueuePairState.RESET, QueuePairState.RTS, state));
    assertFalse(isAllowed(QueuePairType.UD, QueuePairState.ERR, QueuePairState.INIT, state));
  }
}
