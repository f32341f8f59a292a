package dev.verbena.tools.qualify;

import java.util.List;
import java.util.stream.Stream;

/** All capabilities that are tried, in the order of reports. */
final class Capabilities {
  static final List<Capability> ALL =
      Stream.of(TransportTrials.all(), MemoryTrials.all(), QueueTrials.all())
          .flatMap(List::stream)
          .toList();

  private Capabilities() {}
}
