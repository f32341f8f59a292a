package dev.verbena.messages;

import static dev.verbena.testing.Environment.TRIXIE;
import static dev.verbena.testing.Need.CM;
import static dev.verbena.testing.Need.PEERS;

import dev.verbena.messages.EndsOfRequests.End;
import dev.verbena.testing.Needs;
import dev.verbena.testing.NeedsDevice;
import dev.verbena.testing.Once;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.extension.ExtendWith;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

/** {@link EndsOfRequestsTest} on Soft-RoCE. */
@Needs({CM, PEERS})
@Once(value = TRIXIE, reason = "the same ends of processes, each in a JVM")
class EndsOfRequestsOnRoceTest {
  @ParameterizedTest
  @EnumSource(names = {"KILLED", "STOPPED", "INTERRUPTED"})
  @Tag("device")
  @ExtendWith(NeedsDevice.class)
  void callsEndWithTheirServer(End how) throws Exception {
    try (EndsOfRequests ends = EndsOfRequests.onRoce()) {
      ends.ofServer(how);
    }
  }

  @ParameterizedTest
  @EnumSource(names = {"KILLED", "STOPPED"})
  @Tag("device")
  @ExtendWith(NeedsDevice.class)
  void clientThatEndsFreesItsPlace(End how) throws Exception {
    try (EndsOfRequests ends = EndsOfRequests.onRoce()) {
      ends.ofClient(how);
    }
  }
}
