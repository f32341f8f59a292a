package dev.verbena.s3;

import java.lang.System.Logger.Level;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;

/** The log of the bridge: each reason to stay on HTTP once. */
final class Log {
  static final System.Logger LOGGER = System.getLogger("dev.verbena.s3");

  private static final int MAX_REMEMBERED = 1024;
  private static final Set<String> REPORTED = ConcurrentHashMap.newKeySet();

  private Log() {}

  /** Logs a message the first time that its reason is given. */
  static void once(Level level, String reason, String message) {
    if (REPORTED.size() < MAX_REMEMBERED && REPORTED.add(reason)) {
      LOGGER.log(level, message);
    }
  }
}
