package dev.verbena.soft;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertSame;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.verbena.Errno;
import dev.verbena.VerbsException;
import dev.verbena.internal.Providers;
import dev.verbena.soft.device.DeviceCounters;
import dev.verbena.soft.device.FailingCalls;
import dev.verbena.soft.wire.Gids;
import dev.verbena.values.AckTimeout;
import dev.verbena.values.CompletionStatus;
import dev.verbena.verbs.Context;
import dev.verbena.verbs.Device;
import dev.verbena.verbs.SendList;
import java.net.InetAddress;
import java.time.Duration;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

/** Networks, their devices, and faults on demand. */
class SoftNetworkTest {
  @Test
  void devicesAreOrdinaryDevices() throws Exception {
    try (SoftNetwork network = SoftNetwork.create()) {
      Device device =
          network.addDevice(
              "soft0", InetAddress.getByName("10.1.2.3"), InetAddress.getByName("fd00::1"));
      try (Context context = device.open()) {
        assertEquals("soft0", device.name());
        assertEquals(1, context.deviceAttributes().portCount());
        assertEquals(
            List.of("/10.1.2.3", "/fd00:0:0:0:0:0:0:1"),
            context.gidTable().stream()
                .skip(1)
                .map(entry -> entry.gid().toInetAddress().toString())
                .toList());
      }
    }
  }

  @Test
  void namesAndAddressesAreUnique() throws Exception {
    InetAddress address = InetAddress.getByName("10.1.2.3");
    try (SoftNetwork network = SoftNetwork.create()) {
      network.addDevice("soft0", address);
      assertThrows(IllegalArgumentException.class, () -> network.addDevice("soft0"));
      assertThrows(IllegalArgumentException.class, () -> network.addDevice("soft1", address));
      assertThrows(IllegalArgumentException.class, () -> network.addDevice("soft1", List.of()));
    }
  }

  @Test
  void messagesArriveInOrder() {
    try (SoftPair pair = SoftPair.connected()) {
      pair.transfer(100, 10_000);
    }
  }

  @Test
  void lostDuplicatedReorderedAndCorruptedPacketsLoseNoMessage() {
    try (SoftPair pair = SoftPair.connected()) {
      pair.network.faults().seed(42).loss(0.02).duplicate(0.02).reorder(0.02).corrupt(0.02);
      pair.transfer(100, 20_000);
      assertTrue(pair.retransmissions() > 0);
    }
  }

  @Test
  void partitionEndsInRetryExcErr() {
    try (SoftPair pair = SoftPair.connected()) {
      pair.network.faults().partition("soft0", "soft1");
      pair.post(1);
      assertEquals(CompletionStatus.RETRY_EXC_ERR, pair.completion());
    }
  }

  @Test
  void portDownForAShortTimeLosesNoMessage() {
    try (SoftPair pair = SoftPair.connected()) {
      pair.network.faults().portDown("soft1", 1);
      pair.post(1);
      pair.network.faults().portUp("soft1", 1);
      assertEquals(CompletionStatus.SUCCESS, pair.completion());
    }
  }

  /** A fence holds back the first sending only: what the request waits for is itself. */
  @Test
  void fencedReadIsSentAgain() {
    try (SoftPair pair = SoftPair.unconnected()) {
      pair.a.queuePair.setup().ackTimeout(AckTimeout.atLeast(Duration.ofMillis(250)));
      pair.connect();
      pair.network.faults().loss(1);
      SendList list = new SendList(2, 1);
      list.write(0).local(pair.a.region, 0, 8).remote(pair.b.region.start(), pair.b.region.rkey());
      list.read(1)
          .local(pair.a.region, 8, 8)
          .remote(pair.b.region.start(), pair.b.region.rkey())
          .fenced()
          .signaled();
      assertEquals(2, pair.a.queuePair.post(list));
      while (pair.retransmissions() == 0) {
        Thread.onSpinWait();
      }
      pair.network.faults().loss(0);
      assertEquals(CompletionStatus.SUCCESS, pair.completion());
    }
  }

  @Test
  void requestsThatArriveTogetherAreAcknowledgedOnce() {
    try (SoftPair pair = SoftPair.connected()) {
      SendList list = new SendList(10, 1);
      for (int i = 0; i < list.size(); i++) {
        list.write(i)
            .local(pair.a.region, 0, 8)
            .remote(pair.b.region.start(), pair.b.region.rkey())
            .signaled();
      }
      pair.network.engine.locked(() -> assertEquals(10, pair.a.queuePair.post(list)));
      for (int i = 0; i < list.size(); i++) {
        assertEquals(CompletionStatus.SUCCESS, pair.completion());
      }
      DeviceCounters counters = pair.network.deviceNamed("soft1").counters;
      assertEquals(1L, pair.network.engine.locked(() -> counters.sentPackets));
    }
  }

  @Test
  void delayedPacketsArriveLater() {
    try (SoftPair pair = SoftPair.connected()) {
      pair.network.faults().delay(Duration.ofMillis(2));
      long start = System.nanoTime();
      pair.transfer(1, 8);
      assertTrue(System.nanoTime() - start >= 4_000_000, "there and back");
    }
  }

  @Test
  void chosenCallFailsWithChosenErrno() {
    try (SoftNetwork network = SoftNetwork.create();
        Context context = network.addDevice("soft0").open()) {
      network.faults().fail("ibv_alloc_pd", 2, Errno.ENOMEM).fail("ibv_alloc_td", 1, Errno.EPERM);
      context.allocateProtectionDomain();
      var thrown = assertThrows(VerbsException.class, context::allocateProtectionDomain);
      assertEquals(Errno.ENOMEM, thrown.errno());
      context.allocateProtectionDomain();
    }
  }

  @Test
  void invalidFaultsThrow() {
    try (SoftNetwork network = SoftNetwork.create()) {
      Faults faults = network.faults();
      assertThrows(IllegalArgumentException.class, () -> faults.loss(1.5));
      assertThrows(IllegalArgumentException.class, () -> faults.loss(Double.NaN));
      assertThrows(IllegalArgumentException.class, () -> faults.delay(Duration.ofNanos(-1)));
      assertThrows(IllegalArgumentException.class, () -> faults.fail("ibv_alloc_pd", 0, 1));
      assertThrows(IllegalArgumentException.class, () -> faults.portDown("soft0", 1));
    }
  }

  @ParameterizedTest
  @ValueSource(
      strings = {
        "",
        "\0",
        "a\0b",
        "0123456789012345678901234567890123456789012345678901234567890123"
      })
  void deviceNamesAreCheckedBeforeADeviceIsAdded(String name) {
    try (SoftNetwork network = SoftNetwork.create()) {
      assertThrows(IllegalArgumentException.class, () -> network.addDevice(name));
      assertThrows(IllegalStateException.class, network::device);
    }
  }

  /** 32 characters, 64 bytes: one more than the struct holds. */
  @Test
  void deviceNamesAreMeasuredInBytes() {
    try (SoftNetwork network = SoftNetwork.create()) {
      assertThrows(IllegalArgumentException.class, () -> network.addDevice("\u00fc".repeat(32)));
    }
  }

  @ParameterizedTest
  @ValueSource(strings = {"0.0.0.0", "::", "224.0.0.9", "ff02::9"})
  void portsHaveUnicastAddresses(String address) {
    try (SoftNetwork network = SoftNetwork.create()) {
      assertThrows(
          IllegalArgumentException.class,
          () -> network.addDevice("soft0", InetAddress.ofLiteral(address)));
    }
  }

  @ParameterizedTest
  @CsvSource({
    "'2 , strict', soft1, 192.0.2.2",
    "'strict = 42, 2 , profile = siw', soft1, 192.0.2.2",
    "'left = 192.0.2.7, right = 192.0.2.8 + 2001:db8::8', right, 2001:db8::8",
    "'dual = 192.0.2.7 / 192.0.2.8', dual, 192.0.2.8",
    "'strict , udp: 127.0.0.1 : %1$d, udp:127.0.0.2:%1$d', udp1, 127.0.0.2"
  })
  void blanksInADescriptionHaveNoMeaning(String description, String device, String address)
      throws Exception {
    String text = description.formatted(UdpNetworkTest.freePort());
    try (SoftNetwork network = SoftNetwork.of(text)) {
      assertTrue(
          network.deviceNamed(device).ports.stream()
              .anyMatch(port -> port.gids.contains(Gids.of(InetAddress.ofLiteral(address)))),
          text);
    }
  }

  @Test
  void emptyDescriptionSaysWhatADescriptionIs() {
    IllegalArgumentException e =
        assertThrows(IllegalArgumentException.class, () -> SoftNetwork.of(" "));
    assertTrue(e.getMessage().contains("a number of devices, or NAME="), e.getMessage());
  }

  /** Otherwise RDMA CM, while another thread closes the network, passes the context to C. */
  @Test
  void contextOfAClosedNetworkIsNoContextOfC() {
    SoftNetwork network = SoftNetwork.of("1");
    try (Context context = network.device().open()) {
      network.close();
      assertSame(network.provider(), Providers.ofContext(context.segment().address()));
    }
  }

  @Test
  void delayOfAnyLengthIsAppliedOrRefused() {
    try (SoftNetwork network = SoftNetwork.create()) {
      Faults faults = network.faults();
      faults.delay(Duration.ofDays(1)).none();
      var thrown =
          assertThrows(
              IllegalArgumentException.class,
              () -> faults.delay(Duration.ofSeconds(Long.MAX_VALUE)));
      assertTrue(thrown.getMessage().startsWith("delay is zero to PT24H, not "), thrown.toString());
    }
  }

  @ParameterizedTest
  @ValueSource(
      strings = {
        "ibv_regmr",
        "reg_mr",
        "_ibv_query_gid_ex",
        "ibv_post_send",
        "ibv_poll_cq",
        "ibv_wr_send",
        "poll_cq",
        "ibv_ack_async_event",
        "ibv_ack_cq_events",
        "ibv_free_buf",
        "ibv_free_device_list",
        "ibv_node_type_str",
        "rdma_ack_cm_event",
        "rdma_destroy_ep",
        ""
      })
  void onlyFunctionsThatTheDeviceAnswersCanBeMadeToFail(String name) {
    try (SoftNetwork network = SoftNetwork.create()) {
      var thrown =
          assertThrows(
              IllegalArgumentException.class, () -> network.faults().fail(name, 1, Errno.EIO));
      assertTrue(
          thrown.getMessage().startsWith("the software device has no function " + name + " that"),
          thrown.getMessage());
    }
  }

  @Test
  void functionsHaveTheNamesThatProgramsCall() {
    try (SoftNetwork network = SoftNetwork.create()) {
      Context context = network.addDevice("soft9", InetAddress.ofLiteral("192.0.2.9")).open();
      Faults _ = network.faults().fail("ibv_query_gid_ex", 1, Errno.ENODATA);
      var thrown = assertThrows(VerbsException.class, () -> context.port(1).gidEntry(0));
      assertEquals("ibv_query_gid_ex", thrown.function());
      context.close();
    }
  }

  @Test
  void aMisspelledFunctionIsAnsweredWithSimilarNames() {
    try (SoftNetwork network = SoftNetwork.create()) {
      var thrown =
          assertThrows(
              IllegalArgumentException.class,
              () -> network.faults().fail("ibv_regmr", 1, Errno.EIO));
      assertTrue(thrown.getMessage().contains("similar names: ibv_reg_mr,"), thrown.getMessage());
    }
  }

  @ParameterizedTest
  @ValueSource(strings = {"ibv_reg_mr", "ibv_query_port", "ibv_create_cq_ex", "rdma_create_qp"})
  void functionsOfBothLibrariesCanBeMadeToFail(String name) {
    try (SoftNetwork network = SoftNetwork.create()) {
      Faults faults = network.faults();
      FailingCalls calls = faults.fail(name, 2, Errno.EIO).failingCalls();
      assertEquals(0, calls.failure(name));
      assertEquals(Errno.EIO, calls.failure(name));
    }
  }

  @Test
  void closedNetworkTakesNoDevice() {
    SoftNetwork network = SoftNetwork.create();
    network.close();
    network.close();
    assertThrows(IllegalStateException.class, () -> network.addDevice("soft0"));
  }
}
