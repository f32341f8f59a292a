package dev.verbena.tools;

import java.util.Locale;
import java.util.Map;
import java.util.OptionalLong;

/** What a port counts of its traffic; drivers have different counters for it. */
enum Flow {
  RECEIVED_BYTES("port_rcv_data", "rx_bytes"),
  SENT_BYTES("port_xmit_data", "tx_bytes"),
  RECEIVED_PACKETS("port_rcv_packets", "rcvd_pkts", "rx_pkts"),
  SENT_PACKETS("port_xmit_packets", "sent_pkts", "tx_pkts");

  private static final int BYTES_OF_A_WORD = 4;

  private final String[] counters;

  Flow(String... counters) {
    this.counters = counters;
  }

  /** Returns the value of the first of the counters that the port has. */
  OptionalLong of(Map<String, Long> values) {
    for (String counter : counters) {
      Long value = values.get(counter);
      if (value != null) {
        // The InfiniBand specification counts data in words of four bytes.
        return OptionalLong.of(counter.endsWith("_data") ? value * BYTES_OF_A_WORD : value);
      }
    }
    return OptionalLong.empty();
  }

  /** Returns the name of the rate in JSON. */
  String rate() {
    return name().toLowerCase(Locale.ROOT) + "_per_second";
  }
}
