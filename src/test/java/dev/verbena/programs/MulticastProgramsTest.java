package dev.verbena.programs;

import static dev.verbena.testing.Environment.BOOKWORM;
import static dev.verbena.testing.Need.ADDRESSES;
import static dev.verbena.testing.Need.CM;
import static dev.verbena.testing.Need.PEERS;
import static org.junit.jupiter.api.Assertions.assertAll;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNotEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.verbena.testing.Await;
import dev.verbena.testing.DeviceTest;
import dev.verbena.testing.Needs;
import dev.verbena.testing.Once;
import dev.verbena.testing.Program;
import dev.verbena.testing.Rig;
import dev.verbena.testing.Run;
import dev.verbena.testing.Words;
import dev.verbena.tools.command.Cli;
import java.net.InetAddress;
import java.util.List;
import org.junit.jupiter.api.Test;

/** {@code mckey} and {@code mc}, against themselves and against rdma-core's mckey. */
@Needs(CM)
@Once(value = BOOKWORM, reason = "options and output")
class MulticastProgramsTest {
  /** What a receiver prints when it is a member of the group. */
  private static final String MCKEY_JOINED = "receiving data transfers";

  private static String[] mckey(InetAddress here, String group, String... more) {
    return Words.of("mckey", "-m", group, "-b", here.getHostAddress(), "-C", "5", more);
  }

  private static String[] mc(InetAddress here, String group, String... more) {
    return Words.of("mc", "-m", group, "-b", here.getHostAddress(), more);
  }

  @DeviceTest
  void mckeySendsToMckey() {
    Run.Started receiver = Run.start(mckey(Rig.addressB(), "239.9.1.1", "-t", "60", "-c", "2"));
    Run sender = sendUntilDone(receiver, MCKEY_JOINED, mckey(Rig.addressA(), "239.9.1.1", "-s"));
    assertEquals(
        """
        mckey: starting client
        mckey: joining
        mckey: joined dgid: ::ffff:239.9.1.1
        initiating data transfers
        data transfers complete
        test complete
        return status 0
        """,
        sender.out());
    assertEquals(
        """
        mckey: starting server
        mckey: joining
        mckey: joined dgid: ::ffff:239.9.1.1
        mckey: joined dgid: ::ffff:239.9.1.1
        receiving data transfers
        data transfers complete
        test complete
        return status 0
        """,
        receiver.output());
  }

  /** Datagrams get lost, and nobody asks for them again: so they are sent again. */
  private static Run sendUntilDone(Run.Started receiver, String joined, String[] sender) {
    receiver.says(joined);
    Run sent = Run.of(sender).succeeded();
    while (!receiver.end().isDone()) {
      sent = Run.of(sender).succeeded();
    }
    return sent;
  }

  @DeviceTest
  @Needs(PEERS)
  void mckeySendsToMckeyOfC() throws Exception {
    try (Program c = Program.start(mckey(Rig.addressB(), "239.9.1.2"))) {
      // Nothing shows when C has joined, and what is sent before is lost.
      boolean _ =
          Await.attempt(
              "C receives messages",
              () -> {
                Run.of(mckey(Rig.addressA(), "239.9.1.2", "-s")).succeeded();
                return c.process().isAlive() ? null : true;
              });
      assertTrue(c.endsWell().contains("data transfers complete"), c::text);
    }
  }

  @DeviceTest
  @Needs(PEERS)
  void mckeyReceivesFromMckeyOfC() throws Exception {
    Run.Started receiver = Run.start(mckey(Rig.addressB(), "239.9.1.3", "-t", "60"));
    receiver.says(MCKEY_JOINED);
    // C's sender destroys its queue pair as soon as all is posted, and what the device has not sent
    // by then is never sent: so it posts many.
    while (!receiver.end().isDone()) {
      try (Program c = Program.start(mckey(Rig.addressA(), "239.9.1.3", "-s", "-C", "16000"))) {
        c.endsWell();
      }
    }
    assertTrue(receiver.output().contains("data transfers complete"));
  }

  @DeviceTest
  @Needs(ADDRESSES)
  void mckeyReportsErrors() {
    Run large = Run.of(mckey(Rig.addressA(), "239.9.1.4", "-S", "5000"));
    Run ipv6 = Run.of(mckey(Rig.address6A(), "ff05::7"));
    Run unmapped = Run.of("mckey", "-M", "ff12:401b::1", "-b", Rig.addressA().getHostAddress());
    assertAll(
        () -> assertEquals(1, large.status(), large.err()),
        () ->
            assertTrue(
                large.err().startsWith("mckey: message_size 5000 is larger than active mtu 4096"),
                large.err()),
        () -> assertTrue(large.out().endsWith("test complete\nreturn status 1\n"), large.out()),
        () -> assertNotEquals(0, ipv6.status(), ipv6.out()),
        () -> assertTrue(ipv6.err().startsWith("mckey: "), ipv6.err()),
        () -> assertEquals(Cli.UNSUPPORTED, unmapped.status(), unmapped.out()));
  }

  @DeviceTest
  void mckeyWithoutMessagesJoinsAndLeaves() {
    Run run = Run.of(mckey(Rig.addressA(), "239.9.1.5", "-S", "0")).succeeded();
    assertEquals(
        """
        mckey: starting server
        mckey: joining
        mckey: joined dgid: ::ffff:239.9.1.5
        test complete
        return status 0
        """,
        run.out());
  }

  @DeviceTest
  void mcSendsToMc() {
    Run.Started receiver = Run.start(mc(Rig.addressB(), "239.9.2.1", "-t", "60", "-c", "3"));
    Run sender =
        sendUntilDone(
            receiver, "waiting for messages...", mc(Rig.addressA(), "239.9.2.1", "-s", "-c", "3"));
    assertEquals(
        """
        joined dgid: ::ffff:239.9.2.1, mlid 0x0, sl 0
        sent message 1
        sent message 2
        sent message 3
        """,
        sender.out());
    assertEquals(
        """
        joined dgid: ::ffff:239.9.2.1, mlid 0x0, sl 0
        waiting for messages...
        received message 1
        received message 2
        received message 3
        """,
        receiver.output());
  }

  @DeviceTest
  void mcReportsErrors() {
    Run large = Run.of(mc(Rig.addressA(), "239.9.2.2", "-l", "5000"));
    Run alone = Run.of(mc(Rig.addressA(), "239.9.2.3", "-t", "1"));
    assertAll(
        () -> assertEquals(1, large.status()),
        () ->
            assertEquals("buffer length 5000 is larger then active mtu 4096", large.err().strip()),
        () -> assertEquals(1, alone.status()),
        () -> assertEquals("0 of 4 messages received, none within 1 s", alone.err().strip()));
  }

  @Test
  void wrongUsageIsTwo() {
    for (String line :
        List.of(
            "mckey",
            "mckey -m 239.9.1.1 -M ff12:401b::1",
            "mckey -m 239.9.1.1 -c 0",
            "mckey -m 239.9.1.1 -p foo",
            "mckey -m 239.9.1.1 -p 0x3",
            "mc",
            "mc -m 239.9.1.1 -c 0")) {
      Run run = Run.of(line.split(" "));
      assertEquals(2, run.status(), line + run.err());
      assertEquals("", run.out(), line);
    }
    assertTrue(Run.of("mc").err().startsWith("multicast address must be specified with -m"));
  }
}
