package dev.verbena.programs;

import static org.junit.jupiter.api.Assertions.assertFalse;

import dev.verbena.testing.Await;
import dev.verbena.testing.Netem;
import dev.verbena.testing.Program;
import dev.verbena.testing.RdmaResources;
import dev.verbena.testing.Rig;
import java.time.Duration;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutionException;

/**
 * A program that takes the link of the spare pair of devices down for two seconds while connections
 * are in use over it, and prints how each ended. It fails if one does not end, or if anything is
 * left behind.
 */
final class LinkDownMain {
  private static final Duration DOWN = Duration.ofSeconds(2);
  private static final Duration MESSAGE_WITHIN = Duration.ofSeconds(30);
  private static final int FOR_EVER = 1_000_000;

  private LinkDownMain() {}

  public static void main(String[] args) throws Exception {
    FaultyNetworkTest.exchange(1); // Opens the devices, which librdmacm keeps open.
    Map<String, Integer> before = RdmaResources.now();
    Map<String, CompletableFuture<Void>> tasks = new LinkedHashMap<>();
    tasks.put("Connection", start(() -> FaultyNetworkTest.exchange(FOR_EVER, MESSAGE_WITHIN)));
    tasks.put("rping", start(() -> FaultyNetworkTest.ping(FOR_EVER)));
    tasks.put("perf", start(() -> FaultyNetworkTest.measure(FOR_EVER)));
    awaitConnected(before.getOrDefault("qp", 0) + 2 * tasks.size(), tasks);
    run("ip", "link", "set", Rig.netdevA(), "down");
    Await.pass(DOWN, "the link is down");
    run("ip", "link", "set", Rig.netdevA(), "up");
    run("src/lab/devices", "spare", "wire");
    for (Map.Entry<String, CompletableFuture<Void>> task : tasks.entrySet()) {
      System.out.println(task.getKey() + ": " + end(task.getValue()));
    }
    awaitReleased(before);
    System.exit(0);
  }

  private static CompletableFuture<Void> start(Netem.Task task) {
    CompletableFuture<Void> running = new CompletableFuture<>();
    Thread.ofPlatform()
        .daemon()
        .start(
            () -> {
              try {
                task.run();
                running.complete(null);
              } catch (Throwable t) {
                running.completeExceptionally(t);
              }
            });
    return running;
  }

  private static void awaitConnected(int queuePairs, Map<String, CompletableFuture<Void>> tasks)
      throws InterruptedException {
    RdmaResources.await(
        now -> {
          tasks.forEach(
              (name, task) -> assertFalse(task.isDone(), () -> name + " ended early: " + task));
          return now.getOrDefault("qp", 0) >= queuePairs;
        });
  }

  /** Returns how a task ended. */
  private static String end(CompletableFuture<Void> task) throws InterruptedException {
    try {
      task.get();
      return "went on";
    } catch (ExecutionException e) {
      return e.getCause().toString().lines().findFirst().orElseThrow();
    }
  }

  /** The passive ends learn of it when what they wait for is not there in time. */
  private static void awaitReleased(Map<String, Integer> before) throws InterruptedException {
    while (true) {
      try {
        RdmaResources.requireNoMoreThan(before);
        return;
      } catch (AssertionError _) {
        Await.pass(Duration.ofMillis(100), "the passive ends wait for their peers");
      }
    }
  }

  private static void run(String... command) throws Exception {
    try (Program program = Program.start(command)) {
      program.endsWell();
    }
  }
}
