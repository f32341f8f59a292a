package dev.verbena.internal;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.verbena.testing.DeviceTest;
import dev.verbena.testing.LoggedMessages;
import java.util.logging.Level;

/** Control calls can be watched. */
class CallTraceTest {
  @DeviceTest
  void callsAreLoggedWithArgumentsResultAndFailure() throws InterruptedException {
    try (LoggedMessages calls = new LoggedMessages(CallTrace.NAME, Level.FINER, "ibv_")) {
      Verbs verbs = Providers.system().verbs();
      assertEquals(2, verbs.ibv_rate_to_mult(5));
      assertThrows(NullPointerException.class, () -> verbs.ibv_close_device(0));
      assertEquals("FINER: ibv_rate_to_mult(5) = 2", calls.next());
      String failure = calls.next();
      assertTrue(failure.startsWith("FINER: ibv_close_device(0) failed: "), failure);
    }
  }
}
