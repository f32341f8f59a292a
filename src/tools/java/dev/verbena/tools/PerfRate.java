package dev.verbena.tools;

import dev.verbena.tools.output.Chart;
import java.util.LinkedHashMap;
import java.util.Map;

/**
 * The bandwidth of one size.
 *
 * @param size the number of bytes of a message
 * @param count the number of messages that were measured, in one direction
 * @param messagesPerSecond the message rate; the sum of both directions if there are two
 * @param chart the bandwidth of this end over time
 */
record PerfRate(int size, int count, double messagesPerSecond, Chart chart) {
  double bytesPerSecond() {
    return messagesPerSecond * size;
  }

  double mebibytesPerSecond() {
    return bytesPerSecond() / (1 << 20);
  }

  Map<String, Object> tree() {
    Map<String, Object> tree = new LinkedHashMap<>();
    tree.put("size", size);
    tree.put("count", count);
    tree.put("bytes_per_second", bytesPerSecond());
    tree.put("messages_per_second", messagesPerSecond);
    return tree;
  }
}
