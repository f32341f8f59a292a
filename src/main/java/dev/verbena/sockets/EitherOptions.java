package dev.verbena.sockets;

import java.io.IOException;
import java.net.SocketOption;
import java.nio.channels.NetworkChannel;
import java.util.HashSet;
import java.util.List;
import java.util.Set;

/** The options of channels of which one, or each, may be used: those that any of them has. */
final class EitherOptions {
  private EitherOptions() {}

  /** Sets an option of each channel that has it; the first one reports that none has it. */
  static <T> void set(List<? extends NetworkChannel> channels, SocketOption<T> name, T value)
      throws IOException {
    for (NetworkChannel channel : having(channels, name)) {
      channel.setOption(name, value);
    }
  }

  /** Returns the value of the first channel that has the option. */
  static <T> T get(List<? extends NetworkChannel> channels, SocketOption<T> name)
      throws IOException {
    return having(channels, name).getFirst().getOption(name);
  }

  private static List<? extends NetworkChannel> having(
      List<? extends NetworkChannel> channels, SocketOption<?> name) {
    List<? extends NetworkChannel> having =
        channels.stream().filter(channel -> channel.supportedOptions().contains(name)).toList();
    return having.isEmpty() ? channels.subList(0, 1) : having;
  }

  /** Returns the names of the options. */
  static Set<SocketOption<?>> names(List<? extends NetworkChannel> channels) {
    Set<SocketOption<?>> names = new HashSet<>();
    channels.forEach(channel -> names.addAll(channel.supportedOptions()));
    return Set.copyOf(names);
  }
}
