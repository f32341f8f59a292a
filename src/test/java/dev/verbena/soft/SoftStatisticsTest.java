package dev.verbena.soft;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.verbena.attributes.Statistics;
import dev.verbena.values.AckTimeout;
import dev.verbena.values.CompletionStatus;
import dev.verbena.verbs.Context;
import dev.verbena.verbs.Device;
import dev.verbena.verbs.SendList;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

/** The counters of software devices. */
@Tag("host")
class SoftStatisticsTest {
  private static long count(SoftPair.End end, String name) {
    return end.context.statistics().device().get(name);
  }

  private static SoftPair impatient() {
    SoftPair pair = SoftPair.unconnected();
    pair.a.queuePair.setup().ackTimeout(AckTimeout.ofCode(8)).retryCount(1).rnrRetryCount(1);
    pair.connect();
    return pair;
  }

  @Test
  void aNewDeviceHasCountedNothing() {
    try (SoftNetwork network = SoftNetwork.create();
        Context context = network.addDevice("soft0").open()) {
      Statistics statistics = context.statistics();
      assertEquals(10, statistics.device().size(), statistics::toString);
      assertTrue(statistics.device().values().stream().allMatch(value -> value == 0));
      assertEquals(List.of(), statistics.ports());
      assertEquals(Map.of(), statistics.messages());
    }
  }

  @Test
  void packetsAreCountedOfEachDevice() {
    try (SoftPair pair = SoftPair.connected()) {
      pair.post(5000); // Five packets of 1024 bytes, and the acknowledgement.
      assertEquals(CompletionStatus.SUCCESS, pair.completion());
      long sent = count(pair.a, "sent_pkts");
      assertTrue(sent >= 2, () -> "sent: " + sent);
      assertEquals(sent, count(pair.b, "rcvd_pkts"));
      assertEquals(count(pair.b, "sent_pkts"), count(pair.a, "rcvd_pkts"));
      assertEquals(0, count(pair.a, "completer_retry_err"));
    }
  }

  @Test
  void retransmissionsAndTheRequestsThatFailAfterThemAreCounted() {
    try (SoftPair pair = impatient()) {
      var _ = pair.network.faults().loss(1);
      pair.post(8);
      assertEquals(CompletionStatus.RETRY_EXC_ERR, pair.completion());
      assertEquals(1, count(pair.a, "completer_retry_err"));
      assertEquals(1, count(pair.a, "retry_exceeded_err"));
      assertEquals(0, count(pair.b, "rcvd_pkts"));
      assertEquals(0, count(pair.a, "rcvd_rnr_err"));
    }
  }

  @Test
  void corruptPacketsAreCountedWhereTheyArrive() {
    try (SoftPair pair = impatient()) {
      var _ = pair.network.faults().corrupt(1);
      pair.post(8);
      assertEquals(CompletionStatus.RETRY_EXC_ERR, pair.completion());
      assertTrue(count(pair.b, "rx_icrc_encapsulated") > 0);
    }
  }

  @Test
  void rnrNaksAndTheRequestsThatFailAfterThemAreCounted() {
    try (SoftPair pair = impatient()) {
      SendList send = new SendList(1, 1);
      send.send(0).local(pair.a.region, 0, 8).signaled();
      assertEquals(1, pair.a.queuePair.post(send));
      assertEquals(CompletionStatus.RNR_RETRY_EXC_ERR, pair.completion());
      assertEquals(1, count(pair.a, "retry_rnr_exceeded_err"));
      assertEquals(2, count(pair.a, "rcvd_rnr_err"));
      assertEquals(0, count(pair.a, "retry_exceeded_err"));
    }
  }

  @Test
  void naksForASequenceErrorAreCounted() {
    try (SoftPair pair = SoftPair.connected()) {
      var _ = pair.network.faults().seed(1).loss(0.2);
      while (count(pair.a, "rcvd_seq_err") == 0) {
        pair.post(60_000); // 59 packets: a lost one is followed by others.
        if (pair.completion() != CompletionStatus.SUCCESS) {
          pair.reconnect();
        }
      }
      assertTrue(count(pair.a, "completer_retry_err") > 0);
    }
  }

  @Test
  void packetsForNobodyAreCounted() {
    try (SoftPair pair = impatient()) {
      pair.b.queuePair.close();
      SendList write = new SendList(1, 1);
      write.write(0).local(pair.a.region, 0, 8).remote(pair.b.region.start(), 1).signaled();
      assertEquals(1, pair.a.queuePair.post(write));
      assertEquals(CompletionStatus.RETRY_EXC_ERR, pair.completion());
      assertEquals(count(pair.b, "rcvd_pkts"), count(pair.b, "dropped_pkts"));
      assertTrue(count(pair.b, "dropped_pkts") > 0);
    }
  }

  @Test
  void countersOfARemovedDeviceAndOfAClosedNetworkRemain() {
    SoftNetwork network = SoftNetwork.create();
    Device device = network.addDevice("soft0");
    try (network;
        Context context = device.open()) {
      network.removeDevice("soft0");
      assertEquals(10, context.statistics().device().size());
      network.close();
      assertEquals(10, context.statistics().device().size());
    }
  }
}
