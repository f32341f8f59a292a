package dev.verbena.soft.functions;

import dev.verbena.Errno;
import dev.verbena.VerbsException;
import dev.verbena.internal.CNames;
import dev.verbena.internal.foreign.Upcalls;
import dev.verbena.soft.device.CStruct;
import dev.verbena.soft.device.Registry;
import dev.verbena.soft.device.SoftDevice;
import dev.verbena.soft.device.SoftObject;
import java.lang.foreign.MemorySegment;
import java.lang.invoke.MethodHandle;
import java.lang.invoke.MethodHandles;
import java.lang.invoke.MethodType;
import java.util.HashMap;
import java.util.Map;
import java.util.regex.Pattern;
import org.jspecify.annotations.Nullable;

/** Pointers to functions of the software device, by the names of the functions. */
final class Pointers {
  /** The functions: the table has put them here before a program has an object. */
  static final Map<String, MethodHandle> FUNCTIONS = new HashMap<>();

  /** What ends the use of an object: possible on a device that was removed. */
  private static final Pattern ENDING =
      Pattern.compile(
          "ibv_(destroy|dealloc|dereg|close|free|detach|ack|get_async_event|get_cq_event).*");

  /** What makes no call of the kernel: possible on a device that was lost. */
  private static final Pattern LOCAL =
      Pattern.compile(
          "ibv_(ack_.*|close_device|destroy_comp_channel|get_async_event|get_cq_event)");

  /** What destroys an object. */
  private static final Pattern DESTROYING =
      Pattern.compile("ibv_(destroy|dealloc|dereg|close|free).*");

  /** What posts and polls; its functions may be static. */
  private static final Pattern DATA_PATH =
      Pattern.compile(
          "(wr|wc|read(?!_counters))_.*|(start|next|end)_poll"
              + "|post_(send|(srq_|wq_)?recv)|poll_cq|req_notify_cq");

  private static final Map<String, MemorySegment> POINTERS = new HashMap<>();

  private Pointers() {}

  /** Returns whether a function posts or polls: it cannot be made to fail. */
  static boolean isOnDataPath(String name) {
    return DATA_PATH.matcher(name).matches();
  }

  /** A pointer to a shared function, or NULL if there is none of this name. */
  static synchronized MemorySegment to(String name) {
    return POINTERS.computeIfAbsent(
        name,
        n -> {
          MethodHandle function = FUNCTIONS.get(n);
          return function == null ? MemorySegment.NULL : stub(n, function);
        });
  }

  /** Sets the pointers of a struct that have these names. */
  static void fill(CStruct struct, String... names) {
    for (String name : names) {
      struct.putLong(name, to(name).address());
    }
  }

  /** Sets the pointers of a struct whose flags are among some flags. */
  static void fill(CStruct struct, Map<String, Integer> byFlag, long flags) {
    byFlag.forEach(
        (name, flag) -> {
          if ((flags & flag) != 0) {
            fill(struct, name);
          }
        });
  }

  /** Functions other than those on the data path can be made to fail. */
  private static MemorySegment stub(String name, MethodHandle function) {
    MethodHandle target = function;
    if (!isOnDataPath(name)) {
      MethodHandle check = method(Pointers.class, "check", String.class, long.class);
      target =
          MethodHandles.foldArguments(
              function, MethodHandles.insertArguments(check, 0, CNames.of(name)));
    } else if (name.startsWith("wr_") && function.type().returnType() == void.class) {
      MethodHandle failed = method(ExtendedPosting.class, "failed", Throwable.class, long.class);
      target = MethodHandles.catchException(function, Throwable.class, failed);
    }
    boolean counts = name.equals("poll_cq");
    return Upcalls.rehearsed(counts ? Upcalls.countingStub(target) : Upcalls.stub(target));
  }

  private static MethodHandle method(Class<?> owner, String name, Class<?>... parameters) {
    try {
      return MethodHandles.lookup()
          .findStatic(owner, name, MethodType.methodType(void.class, parameters));
    } catch (ReflectiveOperationException e) {
      throw new LinkageError(e.getMessage(), e);
    }
  }

  /** Fails a function that was chosen to fail, called with an object of a network. */
  @SuppressWarnings("UnusedMethod") // Through a method handle.
  private static void check(String function, long object) {
    Upcalls.requireObject(object);
    SoftDevice device = Registry.deviceOf(object);
    requireSupported(function, object, device);
    int errno = device == null ? 0 : device.failingCalls.failure(function);
    if (errno != 0) {
      throw new VerbsException(function, errno, "a fault that was asked for");
    }
  }

  /**
   * Fails a function that a device does not support, or not any more as it was removed.
   *
   * @throws VerbsException EIO, or the error of its profile
   */
  static void requireSupported(String function, long address, @Nullable SoftDevice device) {
    if (device == null) {
      return;
    }
    if (device.isRemoved()) {
      Pattern possible = device.isLost() ? LOCAL : ENDING;
      if (!possible.matcher(function).matches()) {
        SoftObject object = Registry.find(address);
        if (object != null && DESTROYING.matcher(function).matches()) {
          Registry.release(object);
        }
        throw new VerbsException(function, Errno.EIO, device.name + " was removed");
      }
    }
    device.profile.requireFunction(function);
  }
}
