package dev.verbena.testing;

import java.util.List;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.function.Predicate;
import java.util.logging.Handler;
import java.util.logging.Level;
import java.util.logging.LogRecord;
import java.util.logging.Logger;

/** Records the messages of a logger until it is closed, each as {@code LEVEL: message}. */
public final class LoggedMessages implements AutoCloseable {

  private final BlockingQueue<String> messages = new LinkedBlockingQueue<>();
  private final Logger logger;
  private final Level before;
  private final Handler handler;

  /**
   * Begins to record.
   *
   * @param name the name of the logger
   * @param level the lowest level that is logged
   * @param prefix what the messages begin with; others are not recorded. If it is empty, all but
   *     {@linkplain #isLeak those of leaks}
   */
  public LoggedMessages(String name, Level level, String prefix) {
    this(
        name,
        level,
        record -> prefix.isEmpty() ? !isLeak(record) : record.getMessage().startsWith(prefix));
  }

  /** Returns whether a message reports what some test has not closed, whenever it is collected. */
  public static boolean isLeak(LogRecord record) {
    return record.getMessage().contains(" was never closed");
  }

  /**
   * Begins to record.
   *
   * @param name the name of the logger
   * @param level the lowest level that is logged
   * @param wanted the records whose messages are kept
   */
  public LoggedMessages(String name, Level level, Predicate<LogRecord> wanted) {
    logger = Logger.getLogger(name);
    before = logger.getLevel();
    handler =
        new Handler() {
          @Override
          public void publish(LogRecord record) {
            if (wanted.test(record)) {
              messages.add(record.getLevel() + ": " + record.getMessage());
            }
          }

          @Override
          public void flush() {}

          @Override
          public void close() {}
        };
    logger.setLevel(level);
    logger.addHandler(handler);
  }

  /** Returns the messages that were logged and not taken. */
  public List<String> all() {
    return List.copyOf(messages);
  }

  /** Waits for a message, and removes it. */
  public String next() throws InterruptedException {
    return messages.take();
  }

  @Override
  public void close() {
    logger.removeHandler(handler);
    logger.setLevel(before);
  }
}
