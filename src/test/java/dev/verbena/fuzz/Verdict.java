package dev.verbena.fuzz;

import dev.verbena.Errno;
import dev.verbena.VerbsException;
import java.io.IOException;
import java.lang.foreign.MemorySegment;
import java.lang.reflect.Array;
import java.lang.reflect.Executable;
import java.util.Arrays;
import java.util.Collection;
import java.util.List;
import java.util.regex.Pattern;

/** Decides whether an exception is one that a caller should see, or comes from a defect. */
final class Verdict {
  private static final String LIBRARY = "dev.verbena.";

  /** What only the inside of the library, of the JDK or of the fake device says. */
  private static final Pattern INTERNAL =
      Pattern.compile(
          "file descriptor -?\\d+ is|EBADF|Bad file descriptor|EFAULT|Already closed|no [a-z ]+ at"
              + " 0x|Session is|MemorySegment\\{|dev\\.verbena\\.[a-z]+\\.[A-Z]|@[0-9a-f]{6,}");

  private static final String CLOSED = "Already closed";

  private static final int EBADF = 9;

  private Verdict() {}

  /** What is wrong with an exception that a call threw; null if nothing is. */
  static String objection(Executable called, Object[] arguments, Throwable thrown) {
    if (called.getName().equals("toString")) {
      return "toString throws";
    }
    return switch (thrown) {
      case InterruptedException _ -> declares(called, thrown) ? null : "not declared";
      case IOException _ -> declares(called, thrown) ? ofChannel(thrown) : "not declared";
      case WrongThreadException _ ->
          contains(arguments, Verdict::isConfined) ? null : message(thrown);
      case NumberFormatException _ -> "of a number that the library reads";
      case VerbsException e when e.errno() == EBADF ->
          called.getName().equals("importContext") ? null : "EBADF"; // Its argument is one.
      // libmlx5, for a GID index that the port does not have.
      case VerbsException e
          when e.errno() == Errno.EFAULT && e.function().equals("ibv_create_ah") ->
          null;
      case NullPointerException _ ->
          contains(arguments, argument -> argument == null) ? null : "no argument is null";
      case ArrayIndexOutOfBoundsException _ -> "of an array of the library";
      case IndexOutOfBoundsException _ -> index(thrown);
      case OutOfMemoryError _ -> null; // The JVM is given little memory.
      case RuntimeException e when isOfChannels(e) -> null;
      // The JDK's message; another thread may close the arena of an argument while it is read.
      case IllegalStateException e when CLOSED.equals(e.getMessage()) ->
          contains(arguments, Verdict::isClosed) ? null : message(thrown);
      case IllegalArgumentException _ when isThrownInChannels(thrown) -> null;
      case IllegalArgumentException _, IllegalStateException _, UnsupportedOperationException _ ->
          message(thrown);
      case RuntimeException e when e.getClass().getName().startsWith(LIBRARY) -> message(thrown);
      case Thrown _ -> null;
      // Of an arena whose region cannot be closed.
      case Error e
          when e.getCause() instanceof VerbsException
              || e.getCause() instanceof IllegalStateException ->
          message(thrown);
      default -> "never to be thrown";
    };
  }

  /** What a callback of the fuzzer throws. */
  static final class Thrown extends RuntimeException {
    private static final long serialVersionUID = 1;

    Thrown() {
      super("thrown by a callback of the fuzzer");
    }
  }

  private static boolean declares(Executable called, Throwable thrown) {
    return Arrays.stream(called.getExceptionTypes()).anyMatch(type -> type.isInstance(thrown));
  }

  private static String message(Throwable thrown) {
    String message = thrown.getMessage();
    if (message == null || message.isBlank()) {
      return "no message";
    }
    return INTERNAL.matcher(message).find() ? "an internal message" : null;
  }

  private static String ofChannel(Throwable thrown) {
    return isOfChannels(thrown) ? null : message(thrown);
  }

  /** Exceptions that {@code java.nio.channels} specifies, which have no messages. */
  private static boolean isOfChannels(Throwable thrown) {
    return thrown.getClass().getPackageName().equals("java.nio.channels");
  }

  /** Whether methods of the JDK's channels threw, such as {@code register}, without a message. */
  private static boolean isThrownInChannels(Throwable thrown) {
    StackTraceElement[] all = thrown.getStackTrace();
    return all.length > 0 && all[0].getClassName().startsWith("java.nio.channels.");
  }

  private static String index(Throwable thrown) {
    StackTraceElement[] all = thrown.getStackTrace();
    for (StackTraceElement frame : all) {
      String type = frame.getClassName();
      if (type.equals("java.util.Objects")) {
        return message(thrown);
      } else if (!type.startsWith("jdk.internal.util.")) {
        return type.startsWith(LIBRARY) ? message(thrown) : "from inside the JDK: " + type;
      }
    }
    return "no stack";
  }

  /** The frames in the library, without those of the fuzzer. */
  static StackTraceElement[] frames(Throwable thrown) {
    return Arrays.stream(thrown.getStackTrace())
        .filter(frame -> frame.getClassName().startsWith(LIBRARY))
        .filter(frame -> !frame.getClassName().startsWith("dev.verbena.fuzz."))
        .toArray(StackTraceElement[]::new);
  }

  private interface Property {
    boolean of(Object argument);
  }

  private static boolean contains(Object[] arguments, Property property) {
    for (Object argument : arguments) {
      if (property.of(argument)
          || (argument instanceof Collection<?> c && contains(c.toArray(), property))
          || (argument != null
              && argument.getClass().isArray()
              && contains(elements(argument), property))) {
        return true;
      }
    }
    return false;
  }

  private static Object[] elements(Object array) {
    Object[] elements = new Object[Math.min(Array.getLength(array), 16)];
    Arrays.setAll(elements, i -> Array.get(array, i));
    return elements;
  }

  private static boolean isConfined(Object argument) {
    return argument instanceof MemorySegment segment
        && !segment.isAccessibleBy(Thread.currentThread());
  }

  private static boolean isClosed(Object argument) {
    return argument instanceof MemorySegment segment && !segment.scope().isAlive();
  }

  /** By what findings are told apart. */
  static String signature(Executable called, Throwable thrown, String objection) {
    List<String> top =
        Arrays.stream(frames(thrown)).limit(2).map(StackTraceElement::toString).toList();
    return objection
        + ": "
        + thrown.getClass().getSimpleName()
        + " of "
        + Surface.name(called.getDeclaringClass())
        + "."
        + called.getName()
        + " at "
        + (top.isEmpty() ? "no frame of the library" : String.join(" < ", top));
  }
}
