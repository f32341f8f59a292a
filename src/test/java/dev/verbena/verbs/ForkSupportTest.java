package dev.verbena.verbs;

import static dev.verbena.testing.Environment.BOOKWORM;
import static dev.verbena.testing.Need.JVMS;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNotEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.verbena.Errno;
import dev.verbena.VerbsException;
import dev.verbena.raw.rdma_h;
import dev.verbena.testing.Await;
import dev.verbena.testing.DeviceTest;
import dev.verbena.testing.ForkedJvm;
import dev.verbena.testing.Needs;
import dev.verbena.testing.Once;
import dev.verbena.values.AccessFlag;
import dev.verbena.values.QueuePairType;
import java.lang.foreign.Arena;
import java.util.List;
import org.junit.jupiter.api.Test;

/** As rdma-core's test_fork.py; the kernels of the lab copy pages on fork by themselves. */
@Needs(JVMS)
class ForkSupportTest extends FakeDeviceFixture {
  private int status = rdma_h.IBV_FORK_DISABLED();
  private boolean hasRegistered;

  public void ibv_fork_init() {
    if (status == rdma_h.IBV_FORK_DISABLED()) {
      if (hasRegistered) {
        throw new VerbsException("ibv_fork_init", Errno.EINVAL);
      }
      status = rdma_h.IBV_FORK_ENABLED();
    }
  }

  public int ibv_is_fork_initialized() {
    return status;
  }

  @Test
  void forkSupportIsInitializedFirst() {
    assertEquals(ForkSupport.Status.DISABLED, ForkSupport.status(provider));
    hasRegistered = true;
    var thrown = assertThrows(VerbsException.class, () -> ForkSupport.initialize(provider));
    assertTrue(thrown.getMessage().contains("already registered"), thrown.toString());
    hasRegistered = false;
    ForkSupport.initialize(provider);
    assertEquals(ForkSupport.Status.ENABLED, ForkSupport.status(provider));
    ForkSupport.initialize(provider);
    status = rdma_h.IBV_FORK_UNNEEDED();
    assertEquals(ForkSupport.Status.UNNEEDED, ForkSupport.status(provider));
  }

  @DeviceTest
  void forkIsSafe() throws Exception {
    try (Pair pair = new Pair()) {
      assertNotEquals(ForkSupport.Status.ENABLED, ForkSupport.status(), "nobody asked for it");
      // A child of this process, as ProcessBuilder makes it, leaves the registered memory alone.
      pair.a.memory.memory().setString(0, "before");
      assertEquals(0, new ProcessBuilder("true").start().waitFor());
      assertEquals("before", pair.a.memory.memory().getString(0));
    }
  }

  @DeviceTest
  @Once(
      value = BOOKWORM,
      reason = "children of the JVM; since 5.12 the kernel copies pinned pages at a fork")
  void trafficGoesOnBesideAChild() {
    String said = jvm().run(Forking.class, "initialize").succeeded();
    assertTrue(said.contains("went on, fork "), said);
  }

  @DeviceTest
  @Once(value = BOOKWORM, reason = "the same")
  void environmentVariableEnablesIt() {
    // RDMAV_HUGEPAGES_SAFE has an effect only together with one of the others.
    ForkedJvm both =
        jvm().withVariable("RDMAV_FORK_SAFE", "1").withVariable("RDMAV_HUGEPAGES_SAFE", "1");
    for (ForkedJvm asked : List.of(both, jvm().withVariable("IBV_FORK_SAFE", "1"))) {
      String said = asked.run(Forking.class).succeeded();
      assertTrue(said.contains("went on, fork "), said);
    }
  }

  /**
   * Interpreted only: emulated processors have run code half that the compiler of another thread
   * had just written, and such a JVM died in {@code String.hashCode} before it came to any verb.
   */
  private static ForkedJvm jvm() {
    return new ForkedJvm().withNativeAccess().with("-Xint");
  }

  /** Traffic before and after a child process, in a JVM of its own. */
  public static final class Forking {
    private Forking() {}

    /** Runs. */
    public static void main(String[] arguments) throws Exception {
      if (arguments.length > 0) {
        ForkSupport.initialize();
      }
      try (Context context = Device.list().getFirst().open();
          Arena arena = Arena.ofShared()) {
        ProtectionDomain domain = context.allocateProtectionDomain();
        CompletionQueue queue = context.createCompletionQueue(4);
        MemoryRegion region =
            domain.registerMemory(
                arena.allocate(4096), AccessFlag.LOCAL_WRITE, AccessFlag.REMOTE_WRITE);
        QueuePair pair = QueuePair.builder(domain, QueuePairType.RC).completions(queue).create();
        pair.connect(pair.localAddress());
        for (int i = 0; i < 2; i++) {
          write(pair, queue, region, "round " + i);
          if (new ProcessBuilder("true").start().waitFor() != 0) {
            throw new AssertionError("the child failed");
          }
        }
        region.close();
      }
      System.out.println("went on, fork " + ForkSupport.status());
    }

    private static void write(
        QueuePair pair, CompletionQueue queue, MemoryRegion region, String text) {
      region.memory().setString(0, text);
      SendList list = new SendList(1, 1);
      list.write(0).local(region, 0, 64).remote(region.start() + 64, region.rkey()).signaled();
      if (pair.post(list) != 1) {
        throw new AssertionError("the queue is full");
      }
      Completions completions = new Completions(1);
      while (queue.poll(completions) == 0) {
        Thread.onSpinWait();
      }
      if (!completions.isSuccess(0)) {
        throw new AssertionError(completions.describe(0));
      }
      Await.until("the data of the write", () -> region.memory().getString(64).equals(text));
    }
  }
}
