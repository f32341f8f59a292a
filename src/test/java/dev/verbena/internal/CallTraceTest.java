package dev.verbena.internal;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.verbena.testing.DeviceTest;
import java.util.ArrayList;
import java.util.List;
import java.util.logging.Handler;
import java.util.logging.Level;
import java.util.logging.LogRecord;
import java.util.logging.Logger;

/** Control calls can be watched. */
class CallTraceTest {
  private final List<String> lines = new ArrayList<>();
  private final Handler handler =
      new Handler() {
        @Override
        public void publish(LogRecord call) {
          lines.add(call.getMessage());
        }

        @Override
        public void flush() {}

        @Override
        public void close() {}
      };

  @DeviceTest
  void callsAreLoggedWithArgumentsResultAndFailure() {
    Logger logger = Logger.getLogger(CallTrace.NAME);
    Level before = logger.getLevel();
    logger.setLevel(Level.FINER);
    logger.addHandler(handler);
    try {
      Verbs verbs = Provider.system().verbs();
      assertEquals(2, verbs.ibv_rate_to_mult(5));
      assertThrows(NullPointerException.class, () -> verbs.ibv_close_device(0));
    } finally {
      logger.removeHandler(handler);
      logger.setLevel(before);
    }
    assertEquals("ibv_rate_to_mult(5) = 2", lines.getFirst());
    assertTrue(lines.getLast().startsWith("ibv_close_device(0) failed: "), lines::toString);
  }
}
