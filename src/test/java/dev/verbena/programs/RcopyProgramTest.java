package dev.verbena.programs;

import static dev.verbena.testing.Environment.BOOKWORM;
import static dev.verbena.testing.Need.CM;
import static dev.verbena.testing.Need.PEERS;
import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.verbena.testing.DeviceTest;
import dev.verbena.testing.Needs;
import dev.verbena.testing.Netem;
import dev.verbena.testing.Once;
import dev.verbena.testing.Ports;
import dev.verbena.testing.Program;
import dev.verbena.testing.Rig;
import dev.verbena.testing.Run;
import dev.verbena.testing.Words;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Random;
import java.util.concurrent.FutureTask;
import java.util.function.BooleanSupplier;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** {@code rcopy}, against itself and against rdma-core's. */
@Needs({CM, PEERS})
@Once(value = BOOKWORM, reason = "the messages of rcopy, the same in all versions")
class RcopyProgramTest {
  private static final int SIZE = 3_000_001;
  private static final int SMALL = 300_001;

  @TempDir private Path folder;

  private final String port = Ports.free();
  private Path source;
  private Path copy;

  @BeforeEach
  void files() throws IOException {
    copy = folder.resolve("copy");
    write(SIZE);
  }

  private void write(int size) throws IOException {
    byte[] bytes = new byte[size];
    new Random(size).nextBytes(bytes);
    source = Files.write(folder.resolve("source"), bytes);
  }

  private String[] client(Path destination) {
    String[] files = {source.toString(), Rig.addressB().getHostAddress() + ":" + destination};
    return Words.of("rcopy", files, "-p", port);
  }

  private Run javaCopies(Path destination, BooleanSupplier hasEnded) throws InterruptedException {
    return Run.untilConnected(
        hasEnded, Words.of(client(destination), "-b", Rig.addressA().getHostAddress()));
  }

  private String cCopies() throws Exception {
    try (Program c = Program.start(client(copy))) {
      return c.endsWell();
    }
  }

  private void assertCopied() throws IOException {
    assertArrayEquals(Files.readAllBytes(source), Files.readAllBytes(copy));
  }

  @DeviceTest
  void clientTalksToRcopyOfC() throws Exception {
    try (Program c = Program.start("rcopy", "-p", port)) {
      Run java = javaCopies(copy, c::hasEnded).succeeded();
      assertTrue(c.process().isAlive());
      assertTrue(java.out().contains(SIZE + " bytes in "), java.out());
      assertCopied();
    }
  }

  @DeviceTest
  void serverTalksToItselfAndToRcopyOfC() throws Exception {
    FutureTask<Run> running =
        new FutureTask<>(() -> Run.of("rcopy", "-b", Rig.addressB().getHostAddress(), "-p", port));
    Thread server = Thread.ofPlatform().daemon().start(running);
    assertEquals(1, javaCopies(folder.resolve("missing/copy"), running::isDone).status());
    javaCopies(copy, running::isDone).succeeded();
    assertCopied();
    Files.delete(copy);
    String ofC = cCopies();
    assertTrue(ofC.contains(SIZE + " bytes in "), ofC);
    assertCopied();
    server.interrupt();
    String output = running.get().out();
    assertTrue(output.contains("opening: " + copy + ", transferring..." + SIZE), output);
  }

  @DeviceTest
  void clientTalksToRcopyOfCOverFaultyNetworks() throws Exception {
    write(SMALL);
    try (Program c = Program.start("rcopy", "-p", port)) {
      for (String fault : Netem.FAULTS) {
        Netem.under(fault, () -> javaCopies(copy, c::hasEnded).succeeded());
        assertCopied();
        Files.delete(copy);
      }
    }
  }

  @DeviceTest
  void serverTalksToRcopyOfCOverFaultyNetworks() throws Exception {
    write(SMALL);
    FutureTask<Run> running =
        new FutureTask<>(() -> Run.of("rcopy", "-b", Rig.addressB().getHostAddress(), "-p", port));
    Thread server = Thread.ofPlatform().daemon().start(running);
    javaCopies(copy, running::isDone).succeeded(); // The server listens.
    for (String fault : Netem.FAULTS) {
      Files.delete(copy);
      Netem.under(fault, this::cCopies);
      assertCopied();
    }
    server.interrupt();
    int _ = running.get().status();
  }

  @Test
  @Tag("host")
  void argumentsAreChecked() {
    Run run = Run.of("rcopy", source.toString());
    assertEquals(2, run.status());
    assertTrue(run.err().contains("Missing the server"), run.err());
  }
}
