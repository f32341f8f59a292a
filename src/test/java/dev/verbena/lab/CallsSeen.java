package dev.verbena.lab;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Set;
import java.util.concurrent.ConcurrentSkipListSet;
import java.util.logging.Handler;
import java.util.logging.Level;
import java.util.logging.LogRecord;
import java.util.logging.Logger;

/** Notes which C functions did what they were asked to, as the library's own trace tells. */
final class CallsSeen extends Handler {
  /** The logger must be kept, or its level is lost with it. */
  private final Logger calls = Logger.getLogger("dev.verbena.calls");

  private final Set<String> functions = new ConcurrentSkipListSet<>();

  CallsSeen() {
    calls.setLevel(Level.FINER);
    calls.setUseParentHandlers(false);
    calls.addHandler(this);
  }

  @Override
  public void publish(LogRecord call) {
    String text = call.getMessage();
    if (!text.contains(") failed: ")) {
      functions.add(text.substring(0, text.indexOf('(')));
    }
  }

  void write(Path file) throws IOException {
    Files.write(file, functions);
  }

  @Override
  public void flush() {}

  @Override
  public void close() {}
}
