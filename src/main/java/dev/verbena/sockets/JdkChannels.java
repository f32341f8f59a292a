package dev.verbena.sockets;

import java.lang.invoke.MethodHandle;
import java.lang.invoke.MethodHandles;
import java.lang.invoke.MethodType;
import java.nio.channels.SelectableChannel;
import java.nio.channels.spi.SelectorProvider;
import org.jspecify.annotations.Nullable;

/**
 * The channels of the JDK itself: their provider, also if it is not the default one, and their
 * descriptors, so that one selector waits for them and for channels over RDMA. The JDK publishes
 * neither: both need the option {@value #OPTION}.
 */
final class JdkChannels {
  /** Opens the package of the JDK's channels to the class path. */
  static final String OPTION = "--add-exports java.base/sun.nio.ch=ALL-UNNAMED";

  /** What the option makes accessible. */
  private record Access(Class<?> channel, MethodHandle descriptor, MethodHandle kill) {
    static final @Nullable Access INSTANCE = find();

    private static @Nullable Access find() {
      try {
        Class<?> channel = Class.forName("sun.nio.ch.SelChImpl");
        MethodHandles.Lookup lookup = MethodHandles.lookup();
        return new Access(
            channel,
            lookup
                .unreflect(channel.getMethod("getFDVal"))
                .asType(MethodType.methodType(int.class, SelectableChannel.class)),
            lookup
                .unreflect(channel.getMethod("kill"))
                .asType(MethodType.methodType(void.class, SelectableChannel.class)));
      } catch (ReflectiveOperationException e) {
        return null; // Without the option.
      }
    }
  }

  private JdkChannels() {}

  /** Returns whether a channel is one of the JDK whose descriptor is accessible. */
  static boolean has(SelectableChannel channel) {
    return Access.INSTANCE != null && Access.INSTANCE.channel.isInstance(channel);
  }

  /**
   * Does nothing if descriptors of channels are accessible.
   *
   * @throws UnsupportedOperationException otherwise
   */
  static void requireDescriptors() {
    if (Access.INSTANCE == null) {
      throw new UnsupportedOperationException(
          "the channels of this provider need the option " + OPTION + " of the JVM");
    }
  }

  /** Returns the descriptor of a channel that {@link #has} is true of. */
  static int descriptor(SelectableChannel channel) {
    try {
      return (int) access().descriptor.invokeExact(channel);
    } catch (Throwable t) {
      throw new AssertionError(t);
    }
  }

  /** Closes the descriptor of a closed channel that was registered with a selector. */
  static void kill(SelectableChannel channel) {
    try {
      access().kill.invokeExact(channel);
    } catch (Throwable t) {
      throw new AssertionError(t);
    }
  }

  private static Access access() {
    if (Access.INSTANCE == null) {
      throw new AssertionError("not accessible");
    }
    return Access.INSTANCE;
  }

  /**
   * Returns the provider of the JDK.
   *
   * @throws UnsupportedOperationException if it is neither the default one nor accessible
   */
  static SelectorProvider provider() {
    SelectorProvider system = SelectorProvider.provider();
    if (!system.getClass().getPackageName().equals(JdkChannels.class.getPackageName())) {
      return system;
    }
    try {
      Class<?> found = Class.forName("sun.nio.ch.DefaultSelectorProvider");
      return (SelectorProvider) found.getMethod("get").invoke(null);
    } catch (ReflectiveOperationException e) {
      throw new UnsupportedOperationException(
          "with this provider as the default one, channels of TCP, pipes and datagram channels are"
              + " those of the JDK, which it reaches with the option "
              + OPTION,
          e);
    }
  }
}
