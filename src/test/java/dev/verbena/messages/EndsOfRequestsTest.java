package dev.verbena.messages;

import dev.verbena.messages.EndsOfRequests.End;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

/** The process of a server of requests, or of a client, ends: with software devices over UDP. */
@Tag("slow")
class EndsOfRequestsTest {
  @ParameterizedTest
  @EnumSource
  void callsEndWithTheirServer(End how) throws Exception {
    try (EndsOfRequests ends = EndsOfRequests.overUdp()) {
      ends.ofServer(how);
    }
  }

  @ParameterizedTest
  @EnumSource(mode = EnumSource.Mode.EXCLUDE, names = "INTERRUPTED")
  void clientThatEndsFreesItsPlace(End how) throws Exception {
    try (EndsOfRequests ends = EndsOfRequests.overUdp()) {
      ends.ofClient(how);
    }
  }
}
