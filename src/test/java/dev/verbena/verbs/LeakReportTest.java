package dev.verbena.verbs;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNull;

import java.util.concurrent.BlockingQueue;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.TimeUnit;
import java.util.logging.Handler;
import java.util.logging.Level;
import java.util.logging.LogRecord;
import java.util.logging.Logger;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** What was never closed is reported, and nothing else is. */
@Timeout(60)
class LeakReportTest {
  private final BlockingQueue<LogRecord> reports = new LinkedBlockingQueue<>();
  private final Logger logger = Logger.getLogger("dev.verbena");
  private final Handler handler =
      new Handler() {
        @Override
        public void publish(LogRecord report) {
          reports.add(report);
        }

        @Override
        public void flush() {}

        @Override
        public void close() {}
      };

  @BeforeEach
  void listen() {
    logger.setUseParentHandlers(false);
    logger.addHandler(handler);
  }

  @AfterEach
  void stop() {
    logger.removeHandler(handler);
    logger.setUseParentHandlers(true);
  }

  @Test
  void whatWasForgottenIsReported() throws InterruptedException {
    forget("context of nothing", false);
    LogRecord report = null;
    while (report == null) {
      System.gc();
      report = reports.poll(50, TimeUnit.MILLISECONDS);
    }
    assertEquals("context of nothing was never closed", report.getMessage());
    assertEquals(Level.WARNING, report.getLevel());
  }

  @Test
  void whatWasClosedIsNot() throws InterruptedException {
    forget("closed", true);
    forget("forgotten", false);
    LogRecord report = null;
    while (report == null) {
      System.gc();
      report = reports.poll(50, TimeUnit.MILLISECONDS);
    }
    assertEquals("forgotten was never closed", report.getMessage());
    System.gc();
    assertNull(reports.poll(100, TimeUnit.MILLISECONDS));
  }

  private static void forget(String description, boolean close) {
    LeakReport report = new LeakReport(description);
    Object watched = report.watch(new Object());
    assertEquals(Object.class, watched.getClass());
    if (close) {
      report.closed();
    }
  }
}
