package dev.verbena.soft;

import static java.nio.charset.StandardCharsets.UTF_8;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertInstanceOf;
import static org.junit.jupiter.api.Assertions.assertNotEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.verbena.RdmaTimeoutException;
import dev.verbena.internal.time.Time;
import dev.verbena.messages.Connection;
import dev.verbena.testing.Await;
import dev.verbena.testing.ForkedJvm;
import dev.verbena.verbs.CompletionQueue;
import dev.verbena.verbs.Completions;
import dev.verbena.verbs.Context;
import java.io.ByteArrayInputStream;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.OutputStream;
import java.lang.ref.WeakReference;
import java.time.Duration;
import java.time.Instant;
import java.time.InstantSource;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.locks.LockSupport;
import java.util.concurrent.locks.ReentrantLock;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.condition.EnabledForJreRange;

@Tag("host")
@EnabledForJreRange(minVersion = 24)
class SimulationTest {
  private static final int MESSAGES = 5;

  /** Runs a simulation. */
  static final class Main {
    private Main() {}

    public static void main(String[] args) {
      Simulation.run(0, simulation -> {});
    }
  }

  /** Returns a capture file. */
  private static byte[] packets(long seed) {
    ByteArrayOutputStream file = new ByteArrayOutputStream();
    Simulation.run(seed, simulation -> echo(simulation, file));
    return file.toByteArray();
  }

  private static void echo(Simulation simulation, OutputStream file) throws Exception {
    try (SoftHosts hosts = SoftHosts.create()) {
      hosts.network().capture(file);
      Faults _ = hosts.faults().vary(simulation.random());
      Connection client = hosts.client();
      Connection server = hosts.server();
      Thread echo = simulation.actor("echo", () -> repeat(server));
      for (int i = 0; i < MESSAGES; i++) {
        byte[] message = new byte[4_000];
        simulation.random().nextBytes(message);
        client.send(message);
        if (!Arrays.equals(message, client.receive())) {
          throw new IllegalStateException("another message");
        }
      }
      echo.join();
    }
  }

  private static void repeat(Connection server) throws InterruptedException {
    for (int i = 0; i < MESSAGES; i++) {
      server.send(server.receive());
    }
  }

  private static List<String> lines(ByteArrayOutputStream file) throws IOException {
    List<String> lines = new ArrayList<>();
    CaptureFile.Summary _ =
        CaptureFile.read(new ByteArrayInputStream(file.toByteArray()), lines::add);
    return lines;
  }

  @Test
  void theCaptureFileIsRead() throws IOException {
    List<String> lines = new ArrayList<>();
    CaptureFile.Summary summary =
        CaptureFile.read(new ByteArrayInputStream(packets(0)), lines::add);
    assertEquals(summary.frames(), lines.size());
    List<String> packets = lines.stream().filter(line -> line.contains(" > ")).toList();
    assertEquals(summary.packets(), packets.size());
    assertTrue(packets.stream().anyMatch(line -> line.contains("CM REQ")), () -> lines.toString());
    long corrupt = packets.stream().filter(line -> line.endsWith("wrong ICRC")).count();
    assertEquals(corrupt, summary.wrong());
    assertTrue(packets.stream().anyMatch(line -> line.endsWith("payload=4000 ICRC ok")));
  }

  @Test
  void theCaptureFileHasTheStepsOfThreadsAndRemarks() throws IOException {
    ByteArrayOutputStream file = new ByteArrayOutputStream();
    Simulation.run(
        0,
        simulation -> {
          try (SoftNetwork network = SoftNetwork.create()) {
            network.capture(file);
            Thread named = simulation.actor("named", () -> Simulation.sleep(Duration.ofNanos(7)));
            named.join();
            Simulation.sleep(Duration.ofNanos(10));
            for (int i = 0; i < 2; i++) {
              simulation.note("start of\n" + i + " ä");
              Thread.ofVirtual().start(() -> simulation.note("unnamed")).join();
            }
          }
          simulation.note("no network");
        });
    List<String> lines = lines(file);
    assertEquals(List.of(), lines.stream().filter(line -> line.contains("no network")).toList());
    List<String> texts = lines.stream().map(line -> line.substring(12)).toList();
    assertEquals(
        List.of(
            "actor named runs",
            "actor program runs",
            "start of 0 ä",
            "actor thread runs",
            "unnamed",
            "start of 1 ä",
            "actor thread-2 runs"),
        texts.stream().filter(text -> !text.contains("verbena-soft")).distinct().toList());
    assertTrue(texts.contains("actor verbena-soft runs"), () -> lines.toString());
    assertTrue(lines.contains("0.000000017 start of 0 ä"), () -> lines.toString());
    for (int i = 1; i < texts.size(); i++) {
      assertNotEquals(texts.get(i - 1), texts.get(i), lines.toString());
    }
  }

  @Test
  void aCaptureFileThatFailsDoesNotEndTheSimulation() {
    int[] writes = {0};
    OutputStream failing =
        new OutputStream() {
          @Override
          public void write(int b) {}

          @Override
          public void write(byte[] bytes, int offset, int length) throws IOException {
            if (++writes[0] > 1) {
              throw new IOException("no space");
            }
          }
        };
    Simulation.run(0, simulation -> echo(simulation, failing));
    assertEquals(2, writes[0]);
  }

  @Test
  void aCheckHasAtLeastOneSeed() {
    assertThrows(IllegalArgumentException.class, () -> Simulation.check(0, simulation -> {}));
  }

  @Test
  void theJvmMustOpenThePackageOfThreads() throws Exception {
    String output = new ForkedJvm().withNativeAccess().run(Main.class).output();
    assertTrue(output.contains("--add-opens java.base/java.lang=ALL-UNNAMED"), output);
  }

  @Test
  void aTimeoutOfHoursTakesNoTime() {
    Simulation.run(
        0,
        simulation -> {
          Simulation.sleep(Duration.ofHours(2));
          assertEquals(Duration.ofHours(2), simulation.now());
          try (SoftHosts hosts = SoftHosts.create()) {
            Connection client = hosts.client();
            assertThrows(RdmaTimeoutException.class, () -> client.receive(Duration.ofHours(3)));
            assertTrue(simulation.now().compareTo(Duration.ofHours(5)) >= 0);
          }
        });
  }

  private static List<Duration> differences(long seed) {
    List<Duration> differences = new ArrayList<>();
    Simulation.run(
        seed,
        simulation -> {
          InstantSource clock = simulation.hostClock();
          Instant last = clock.instant();
          for (int i = 0; i < 2000; i++) {
            Simulation.sleep(Duration.ofNanos(1));
            assertFalse(clock.instant().isBefore(last));
            last = clock.instant();
          }
          differences.add(Duration.between(Instant.EPOCH.plus(simulation.now()), last));
          Simulation.sleep(Duration.ofHours(1));
          Duration own = Duration.between(last, clock.instant());
          differences.add(own.minusHours(1));
        });
    return differences;
  }

  @Test
  void hostsHaveClocksWithOffsetAndDrift() {
    List<Duration> all = new ArrayList<>();
    for (long seed = 0; seed < 20; seed++) {
      List<Duration> differences = differences(seed);
      assertEquals(differences, differences(seed));
      Duration offset = differences.getFirst().minusSeconds(1);
      assertFalse(offset.isNegative());
      assertTrue(offset.compareTo(Duration.ofSeconds(11)) < 0, offset::toString);
      Duration drift = differences.getLast();
      assertTrue(drift.abs().compareTo(Duration.ofMillis(360)) <= 0, drift::toString);
      all.addAll(differences);
    }
    assertEquals(40, all.stream().distinct().count());
    assertTrue(all.stream().anyMatch(Duration::isNegative), () -> all.toString());
  }

  @Test
  void eachDeviceHasItsClock() {
    Simulation.run(
        0,
        simulation -> {
          try (SoftHosts hosts = SoftHosts.create()) {
            Context client = hosts.clientContext();
            Context server = hosts.serverContext();
            long before = client.rawClock() - server.rawClock();
            Simulation.sleep(Duration.ofHours(1));
            long after = client.rawClock() - server.rawClock();
            assertNotEquals(0, before);
            assertNotEquals(before, after);
            assertTrue(Math.abs(after - before) <= 720_000_000, before + " and " + after);
          }
        });
  }

  @Test
  void aSeedDecidesTheOrderOfActors() {
    List<List<String>> orders = new ArrayList<>();
    for (long seed = 0; seed < 20; seed++) {
      List<String> order = new ArrayList<>();
      Simulation.run(
          seed,
          simulation -> {
            for (String name : List.of("a", "b", "c")) {
              Thread _ = simulation.actor(name, () -> order.add(name));
            }
          });
      orders.add(order);
    }
    assertEquals(6, orders.stream().distinct().count(), () -> orders.toString());
  }

  @Test
  void actorsWaitForEachOther() {
    Simulation.check(
        20,
        simulation -> {
          ReentrantLock lock = new ReentrantLock();
          CompletableFuture<String> future = new CompletableFuture<>();
          Object monitor = new Object();
          Thread holder =
              Thread.ofVirtual()
                  .start(
                      () -> {
                        synchronized (monitor) {
                          lock.lock();
                          try {
                            boolean _ = future.complete("done");
                          } finally {
                            lock.unlock();
                          }
                        }
                      });
          lock.lock();
          try {
            Simulation.sleep(Duration.ofMillis(1));
            assertFalse(future.isDone());
          } finally {
            lock.unlock();
          }
          assertEquals("done", future.join());
          synchronized (monitor) {
            holder.join();
          }
        });
  }

  @Test
  void anInterruptAtTheEndOfAWaitIsNotLost() {
    Duration time = Duration.ofMillis(1);
    Simulation.check(
        100,
        simulation -> {
          List<String> ends = new ArrayList<>();
          Thread sleeper =
              simulation.actor(
                  "sleeper",
                  () -> {
                    try {
                      Simulation.sleep(time);
                      new CountDownLatch(1).await();
                    } catch (InterruptedException e) {
                      ends.add("interrupted");
                    }
                  });
          Simulation.sleep(time);
          sleeper.interrupt();
          sleeper.join();
          assertEquals(List.of("interrupted"), ends);
        });
  }

  @Test
  void anInterruptOfAThreadThatEntersItsMonitorAgainIsNotLost() {
    Object monitor = new Object();
    Simulation.check(
        10,
        simulation -> {
          Thread waiting =
              simulation.actor(
                  "waiting",
                  () -> {
                    synchronized (monitor) {
                      Time.wait(monitor, Duration.ofMillis(10).toNanos());
                    }
                    assertTrue(Thread.currentThread().isInterrupted());
                  });
          Thread _ =
              simulation.actor(
                  "notifying",
                  () -> {
                    Simulation.sleep(Duration.ofMillis(5));
                    synchronized (monitor) {
                      monitor.notifyAll();
                      Simulation.sleep(Duration.ofMillis(15));
                    }
                  });
          Simulation.sleep(Duration.ofMillis(8));
          waiting.interrupt();
        });
  }

  @Test
  void actorsHaveTimeToCloseAfterAFailure() {
    List<String> ends = new ArrayList<>();
    assertThrows(
        AssertionError.class,
        () ->
            Simulation.run(
                0,
                simulation -> {
                  try {
                    Simulation.sleep(Duration.ofHours(25));
                  } finally {
                    Simulation.sleep(Duration.ofSeconds(1));
                    ends.add("closed");
                  }
                }));
    assertEquals(List.of("closed"), ends);
  }

  @Test
  void anActorThatWaitsForEverIsNamedWithItsStack() {
    AssertionError failure =
        assertThrows(
            AssertionError.class,
            () ->
                Simulation.run(
                    3,
                    simulation -> {
                      Thread _ = simulation.actor("sleeper", () -> new CountDownLatch(1).await());
                    }));
    assertTrue(failure.getMessage().startsWith("seed 3, "), failure.getMessage());
    assertTrue(failure.getMessage().contains("no actor can run"), failure.getMessage());
    assertTrue(
        failure.getMessage().endsWith("repeat it with -Ddev.verbena.simulation.seed=3"),
        failure.getMessage());
    Throwable actor = failure.getCause().getSuppressed()[0];
    assertEquals("actor sleeper", actor.getMessage());
    assertTrue(List.of(actor.getStackTrace()).toString().contains("CountDownLatch.await"));
  }

  @Test
  void whatAnActorThrowsEndsTheOthers() {
    List<String> ends = new ArrayList<>();
    AssertionError failure =
        assertThrows(
            AssertionError.class,
            () ->
                Simulation.run(
                    0,
                    simulation -> {
                      try (SoftHosts hosts = SoftHosts.create()) {
                        Connection client = hosts.client();
                        Thread _ =
                            simulation.actor(
                                "failing",
                                () -> {
                                  Simulation.sleep(Duration.ofMillis(1));
                                  throw new IllegalArgumentException("of the actor");
                                });
                        byte[] _ = client.receive();
                      } finally {
                        ends.add("closed");
                      }
                    }));
    assertInstanceOf(IllegalArgumentException.class, failure.getCause());
    assertEquals(List.of("closed"), ends);
  }

  @Test
  void aWaitByTheClockOfTheMachineIsAnError() {
    AssertionError failure =
        assertThrows(
            AssertionError.class,
            () ->
                Simulation.run(
                    0,
                    simulation -> {
                      LockSupport.parkNanos(10_000_000_000L);
                    }));
    assertTrue(failure.getMessage().contains("Simulation.sleep"), failure.getMessage());
  }

  @Test
  @SuppressWarnings("ThreadPriorityCheck") // It ends the turn.
  void anEndlessLoopAtOneTimeIsAnError() {
    AssertionError failure =
        assertThrows(
            AssertionError.class,
            () ->
                Simulation.run(
                    0,
                    simulation -> {
                      while (!Thread.currentThread().isInterrupted()) {
                        Thread.yield();
                      }
                    }));
    assertTrue(failure.getMessage().contains("the time does not go on"), failure.getMessage());
  }

  @Test
  void aPollInVainEnds() {
    for (boolean isAnotherFailing : new boolean[] {false, true}) {
      AssertionError failure =
          assertThrows(
              AssertionError.class,
              () ->
                  Simulation.run(
                      0,
                      simulation -> {
                        Thread _ =
                            simulation.actor(
                                "other",
                                () -> {
                                  Simulation.sleep(Duration.ofSeconds(1));
                                  assertFalse(isAnotherFailing, "the other fails");
                                });
                        try (SoftHosts hosts = SoftHosts.create();
                            CompletionQueue queue =
                                hosts.clientContext().createCompletionQueue(1)) {
                          Completions completions = new Completions(1);
                          int polled = 0;
                          while (polled == 0) {
                            polled = queue.poll(completions);
                          }
                        }
                      }));
      String expected = isAnotherFailing ? "the other fails" : "the actors do not end: [program]";
      assertTrue(failure.getMessage().contains(expected), failure.getMessage());
    }
  }

  @Test
  void whatAnotherVirtualThreadDoesNotCatchIsAFailure() {
    Thread.UncaughtExceptionHandler before = Thread.getDefaultUncaughtExceptionHandler();
    AssertionError failure =
        assertThrows(
            AssertionError.class,
            () ->
                Simulation.run(
                    0,
                    simulation ->
                        Thread.ofVirtual()
                            .start(
                                () -> {
                                  throw new IllegalArgumentException("not caught");
                                })
                            .join()));
    assertEquals("not caught", failure.getCause().getMessage());
    assertEquals(before, Thread.getDefaultUncaughtExceptionHandler());
  }

  @Test
  void anActorThatAPlatformThreadWakesIsAFailureWithItsSeed() {
    List<String> ends = new ArrayList<>();
    AssertionError failure =
        assertThrows(
            AssertionError.class,
            () ->
                Simulation.run(
                    4,
                    simulation -> {
                      Thread actor = Thread.currentThread();
                      CountDownLatch isParked = new CountDownLatch(1);
                      Thread waker =
                          Thread.ofPlatform()
                              .name("waker")
                              .start(
                                  () -> {
                                    Await.until(
                                        "the actor waits",
                                        () -> actor.getState() == Thread.State.WAITING);
                                    isParked.countDown();
                                  });
                      Thread keeper = simulation.actor("keeper", () -> keepRunning(waker));
                      try {
                        isParked.await();
                        keeper.join();
                      } finally {
                        ends.add("closed");
                      }
                    }));
    assertTrue(failure.getMessage().contains("the thread waker has woken"), failure.getMessage());
    assertTrue(failure.getMessage().endsWith("seed=4"), failure.getMessage());
    assertEquals(List.of("closed"), ends);
  }

  @SuppressWarnings("ThreadPriorityCheck") // It ends the turn.
  private static void keepRunning(Thread other) throws InterruptedException {
    while (other.isAlive()) {
      Simulation.sleep(Duration.ofNanos(1));
    }
  }

  @Test
  void aSimulationWithinAnotherIsAnError() {
    AssertionError failure =
        assertThrows(
            AssertionError.class,
            () -> Simulation.run(0, simulation -> Simulation.run(1, inner -> {})));
    assertTrue(failure.getMessage().contains("not within another"), failure.getMessage());
  }

  @Test
  void nothingRemainsInMemory() {
    List<WeakReference<SoftNetwork>> networks = new ArrayList<>();
    Simulation.check(
        20,
        simulation -> {
          try (SoftHosts hosts = SoftHosts.create()) {
            networks.add(new WeakReference<>(hosts.network()));
            hosts.client().send("x".getBytes(UTF_8));
          }
        });
    Await.until(
        "the networks are collected",
        () -> {
          System.gc();
          return networks.stream().allMatch(network -> network.refersTo(null));
        });
  }

  @Test
  void outsideOfASimulationNothingChanges() throws Exception {
    Simulation.run(0, simulation -> {});
    long before = System.nanoTime();
    Simulation.sleep(Duration.ofMillis(2));
    assertTrue(System.nanoTime() - before >= 2_000_000);
    try (SoftHosts hosts = SoftHosts.create()) {
      hosts.client().send("x".getBytes(UTF_8));
      assertEquals("x", new String(hosts.server().receive(), UTF_8));
    }
  }
}
