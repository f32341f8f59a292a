package dev.verbena.soft;

import static java.nio.charset.StandardCharsets.UTF_8;
import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNotEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.verbena.Errno;
import dev.verbena.VerbsException;
import dev.verbena.address.AddressVector;
import dev.verbena.address.GlobalRoute;
import dev.verbena.attributes.DeviceAttributes;
import dev.verbena.attributes.TransportType;
import dev.verbena.messages.Connection;
import dev.verbena.soft.device.Profile;
import dev.verbena.values.AccessFlag;
import dev.verbena.values.MemoryWindowType;
import dev.verbena.values.QueuePairCapacity;
import dev.verbena.values.QueuePairType;
import dev.verbena.verbs.CompletionQueue;
import dev.verbena.verbs.Context;
import dev.verbena.verbs.MemoryRegion;
import dev.verbena.verbs.MemoryWindow;
import dev.verbena.verbs.ProtectionDomain;
import dev.verbena.verbs.QueuePair;
import dev.verbena.verbs.RemoteMemory;
import dev.verbena.verbs.SendList;
import dev.verbena.verbs.SharedReceiveQueue;
import java.util.Map;
import java.util.Set;
import java.util.stream.Stream;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;
import org.junit.jupiter.params.provider.ValueSource;

/** A software device with a profile has the limits of that device, and refuses what it refuses. */
@Tag("host")
class ProfileTest {
  private static final int MESSAGES = 1000;

  static Stream<String> profiles() {
    return Profile.names().stream();
  }

  @Test
  void theProfilesAreThoseThatAreDocumented() {
    assertEquals(
        Set.of("connectx5", "connectx7", "efa", "irdma", "erdma", "siw", "rxe"), Profile.names());
    String message =
        assertThrows(IllegalArgumentException.class, () -> SoftHosts.create("cx4")).getMessage();
    assertTrue(message.contains("connectx5"), message);
    assertThrows(IllegalArgumentException.class, () -> SoftNetwork.of("2,profile=cx4"));
  }

  /** A server and a client: messages in both directions and an RDMA read. */
  private static void application(SoftHosts hosts) throws Exception {
    Connection client = hosts.client();
    Connection server = hosts.server();
    for (int i = 0; i < MESSAGES; i++) {
      byte[] message = ("message " + i).getBytes(UTF_8);
      client.send(message);
      assertArrayEquals(message, server.receive());
      server.send(message);
      assertArrayEquals(message, client.receive());
    }
    MemoryRegion remote =
        server.domain().allocateMemory(4096, AccessFlag.LOCAL_WRITE, AccessFlag.REMOTE_READ);
    MemoryRegion local = client.domain().allocateMemory(4096, AccessFlag.LOCAL_WRITE);
    remote.memory().setString(0, "read");
    client.read(local, 0, 64, RemoteMemory.of(remote), 0);
    assertEquals("read", local.memory().getString(0));
  }

  @ParameterizedTest
  @ValueSource(strings = {"connectx5", "connectx7", "irdma", "erdma", "siw", "rxe"})
  void theApplicationRunsWhereThereIsRcAndRdmaCm(String profile) throws Exception {
    try (SoftHosts hosts = SoftHosts.create(profile)) {
      application(hosts);
    }
  }

  @Test
  void theApplicationFailsOnEfa() {
    try (SoftHosts hosts = SoftHosts.create("efa")) {
      VerbsException failure = assertThrows(VerbsException.class, () -> application(hosts));
      assertEquals(Errno.ENODEV, failure.errno());
      assertContains("profile efa: RDMA CM does not use an EFA", failure);
    }
  }

  private static void assertContains(String text, Exception failure) {
    assertTrue(failure.getMessage().contains(text), failure::getMessage);
  }

  @ParameterizedTest
  @MethodSource("profiles")
  void limitsAreReportedAndHold(String profile) {
    Map<String, Integer> elements =
        Map.of(
            "connectx5",
            30,
            "connectx7",
            30,
            "efa",
            2,
            "irdma",
            6,
            "erdma",
            1,
            "siw",
            6,
            "rxe",
            32);
    try (SoftNetwork network = SoftNetwork.of("2,profile=" + profile);
        Context context = network.device().open();
        ProtectionDomain domain = context.allocateProtectionDomain()) {
      DeviceAttributes attributes = context.deviceAttributes();
      assertEquals(elements.get(profile), attributes.maxSges());
      int most = attributes.maxCompletionQueueEntries();
      int sends = profile.equals("erdma") ? 6 : attributes.maxSges();
      assertThrows(VerbsException.class, () -> context.createCompletionQueue(most + 1));
      try (CompletionQueue queue = context.createCompletionQueue(8)) {
        QueuePairType type = profile.equals("efa") ? QueuePairType.UD : QueuePairType.RC;
        var builder = QueuePair.builder(domain, type).completions(queue);
        try (QueuePair fits =
            builder.capacity(QueuePairCapacity.of(4).withSendSges(sends)).create()) {
          assertNotEquals(0, fits.number());
        }
        VerbsException failure =
            assertThrows(
                VerbsException.class,
                () -> builder.capacity(QueuePairCapacity.of(4).withSendSges(sends + 1)).create());
        assertEquals(Errno.EINVAL, failure.errno());
        VerbsException receives =
            assertThrows(
                VerbsException.class,
                () ->
                    builder
                        .capacity(QueuePairCapacity.of(4).withReceiveSges(attributes.maxSges() + 1))
                        .create());
        assertEquals(Errno.EINVAL, receives.errno());
      }
    }
  }

  @Test
  void efaHasUdAndSrdAndNoAtomics() {
    try (SoftNetwork network = SoftNetwork.of("1,profile=efa");
        Context context = network.device().open();
        ProtectionDomain domain = context.allocateProtectionDomain();
        CompletionQueue queue = context.createCompletionQueue(8)) {
      VerbsException noRc =
          assertThrows(
              VerbsException.class,
              () -> QueuePair.builder(domain, QueuePairType.RC).completions(queue).create());
      assertEquals(Errno.EOPNOTSUPP, noRc.errno());
      assertContains("profile efa: its queue pairs are [SRD, UD]", noRc);
      AddressVector otherGid =
          AddressVector.global(1, new GlobalRoute(context.port(1).chooseGid().gid(), 1));
      VerbsException other =
          assertThrows(VerbsException.class, () -> domain.createAddressHandle(otherGid));
      assertEquals(Errno.EINVAL, other.errno());
      assertUnsupported(() -> SharedReceiveQueue.create(domain, 8));
      assertUnsupported(() -> MemoryWindow.allocate(domain, MemoryWindowType.TYPE_1));
      assertUnsupported(
          () -> domain.allocateMemory(64, AccessFlag.LOCAL_WRITE, AccessFlag.REMOTE_ATOMIC));
      AddressVector self =
          AddressVector.global(1, new GlobalRoute(context.port(1).chooseGid().gid(), 0));
      int most = context.deviceAttributes().maxAddressHandles();
      for (int i = 0; i < most; i++) {
        assertTrue(domain.createAddressHandle(self).isOpen());
      }
      VerbsException full =
          assertThrows(VerbsException.class, () -> domain.createAddressHandle(self));
      assertEquals(Errno.ENOMEM, full.errno());
    }
  }

  private static void assertUnsupported(Runnable call) {
    VerbsException failure = assertThrows(VerbsException.class, call::run);
    assertTrue(failure.isUnsupported(), failure::getMessage);
  }

  @ParameterizedTest
  @ValueSource(strings = {"siw", "erdma"})
  void onlyRdmaCmConnectsIwarp(String profile) {
    try (SoftNetwork network = SoftNetwork.of("1,profile=" + profile);
        Context context = network.device().open();
        ProtectionDomain domain = context.allocateProtectionDomain();
        CompletionQueue queue = context.createCompletionQueue(8);
        QueuePair queuePair =
            QueuePair.builder(domain, QueuePairType.RC).completions(queue).create()) {
      VerbsException failure =
          assertThrows(VerbsException.class, () -> queuePair.connect(queuePair.localAddress()));
      assertEquals(Errno.EINVAL, failure.errno());
      assertContains("connected by RDMA CM", failure);
      assertEquals(TransportType.IWARP, context.device().transportType());
      AddressVector self =
          AddressVector.global(1, new GlobalRoute(context.port(1).chooseGid().gid(), 1));
      assertTrue(
          assertThrows(VerbsException.class, () -> domain.createAddressHandle(self))
              .isUnsupported());
    }
  }

  @Test
  void siwHasNoImmediateData() throws Exception {
    try (SoftHosts hosts = SoftHosts.create("siw")) {
      Connection client = hosts.client();
      MemoryRegion local = client.domain().allocateMemory(64, AccessFlag.LOCAL_WRITE);
      SendList sends = new SendList(1, 1);
      sends.sendWithImmediate(0, 1).local(local, 0, 64);
      QueuePair queuePair = client.endpoint().id().queues().queuePair().orElseThrow();
      VerbsException failure = assertThrows(VerbsException.class, () -> queuePair.post(sends));
      assertEquals(Errno.EINVAL, failure.errno());
    }
  }
}
