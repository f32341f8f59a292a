package dev.verbena.tools.qualify;

import java.util.regex.Matcher;
import java.util.regex.Pattern;

/**
 * What the JVM of a child process prints of its crash: the signal, and the frame that it was in.
 */
public final class Crash {
  private static final Pattern SIGNAL = Pattern.compile("# +(SIG\\w+|Internal Error)\\b.*");
  private static final String FRAME = "# Problematic frame:";

  private String signal = "";
  private String frame = "";
  private boolean isFrameNext;

  /** Takes a line of the child's standard output. */
  public void read(String line) {
    Matcher matcher = SIGNAL.matcher(line);
    if (isFrameNext) {
      frame = " in " + line.substring(1).strip();
      isFrameNext = false;
    } else if (matcher.matches()) {
      signal = ": " + matcher.group(1);
    } else {
      isFrameNext = line.equals(FRAME);
    }
  }

  /** Returns text to append to the exit status; empty if the JVM did not crash. */
  public String text() {
    return signal + frame;
  }
}
