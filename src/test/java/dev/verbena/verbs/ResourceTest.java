package dev.verbena.verbs;

import static org.junit.jupiter.api.Assertions.assertDoesNotThrow;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertSame;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.verbena.Errno;
import dev.verbena.VerbsException;
import dev.verbena.internal.life.Core;
import dev.verbena.testing.Await;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.Test;

/** Ownership: who closes what, when, and how often. */
class ResourceTest {
  private final List<String> released = Collections.synchronizedList(new ArrayList<>());

  private static final class Thing extends Resource {
    private final String name;

    Thing(Core core, String name) {
      super(core);
      this.name = name;
    }

    @Override
    public String toString() {
      return name;
    }
  }

  private Thing thing(String name, Resource... parents) {
    return thing(name, () -> released.add(name), parents);
  }

  private static Thing thing(String name, Runnable release, Resource... parents) {
    return Core.make(
        List.of(parents), name::hashCode, address -> release.run(), core -> new Thing(core, name));
  }

  @Test
  void childrenAreClosedFirstInReverseOrder() {
    Thing context = thing("context");
    Thing pd = thing("pd", context);
    Thing cq = thing("cq", context);
    thing("mr", pd);
    thing("qp", pd, cq);
    context.close();
    assertEquals(List.of("qp", "cq", "mr", "pd", "context"), released);
  }

  @Test
  void closingTwiceReleasesOnce() {
    Thing context = thing("context");
    context.close();
    context.close();
    assertEquals(List.of("context"), released);
  }

  @Test
  void closedObjectThrows() {
    Thing context = thing("context of nothing");
    assertDoesNotThrow(context::segment);
    context.close();
    assertFalse(context.isOpen());
    var thrown = assertThrows(IllegalStateException.class, context::segment);
    assertEquals("context of nothing is closed", thrown.getMessage());
  }

  @Test
  void closedChildIsRemovedFromItsParent() {
    Thing context = thing("context");
    thing("pd", context).close();
    context.close();
    assertEquals(List.of("pd", "context"), released);
  }

  @Test
  void failedReleaseLeavesTheObjectOpen() {
    AtomicBoolean busy = new AtomicBoolean(true);
    Thing context = thing("context");
    Thing cq =
        thing(
            "cq",
            () -> {
              if (busy.get()) {
                throw new VerbsException("ibv_destroy_cq", Errno.EBUSY);
              }
              released.add("cq");
            },
            context);
    assertEquals(Errno.EBUSY, assertThrows(VerbsException.class, cq::close).errno());
    assertTrue(cq.isOpen());
    assertThrows(VerbsException.class, context::close);
    assertTrue(context.isOpen(), "what is below is still open");
    assertEquals(List.of(), released);
    busy.set(false);
    context.close();
    assertEquals(List.of("cq", "context"), released);
  }

  @Test
  void creationOnAClosedParentThrows() {
    Thing context = thing("context");
    Thing other = thing("other");
    context.close();
    assertThrows(IllegalStateException.class, () -> made("late", other, context));
    other.close();
    assertEquals(List.of("context", "other"), released);
  }

  private Thing made(String name, Resource... parents) {
    return Core.make(
        List.of(parents),
        () -> {
          released.add(name + " is made");
          return 1;
        },
        address -> released.add(name),
        core -> new Thing(core, name));
  }

  @Test
  void creationOnAClosingParentThrows() throws InterruptedException {
    CountDownLatch closing = new CountDownLatch(1);
    CountDownLatch goOn = new CountDownLatch(1);
    Thing context = thing("context");
    thing(
        "slow",
        () -> {
          closing.countDown();
          awaitQuietly(goOn);
          released.add("slow");
        },
        context);
    Thread closer = Thread.ofPlatform().start(context::close);
    closing.await();
    assertThrows(IllegalStateException.class, () -> made("late", context));
    goOn.countDown();
    closer.join();
    assertEquals(List.of("slow", "context"), released);
  }

  @Test
  void parentWaitsForACreationInProgress() throws InterruptedException {
    CountDownLatch begun = new CountDownLatch(1);
    CountDownLatch goOn = new CountDownLatch(1);
    class Slow extends Resource {
      private final List<String> built;

      Slow(Core core) {
        super(core);
        core.beforeClose(this::stopWaiting);
        begun.countDown();
        awaitQuietly(goOn);
        this.built = released;
      }

      private void stopWaiting() {
        built.add("stop waiting");
      }
    }

    Thing context = thing("context");
    Thing domain = thing("domain", context);
    Thing queue = thing("queue", context);
    Thread maker =
        Thread.ofPlatform()
            .daemon()
            .start(
                () ->
                    Core.make(
                        List.of(domain, queue),
                        () -> 17,
                        address -> released.add("slow"),
                        Slow::new));
    begun.await();
    assertNull(context.core.find(Slow.class, 17), "it is not complete");
    Thread closer = Thread.ofPlatform().daemon().start(context::close);
    Await.waits(closer);
    assertFalse(context.isOpen());
    assertDoesNotThrow(queue::address, "what is made may still use its parents");
    assertThrows(IllegalStateException.class, () -> made("late", queue));
    assertEquals(List.of(), released);
    goOn.countDown();
    closer.join();
    maker.join();
    assertEquals(List.of("stop waiting", "slow", "queue", "domain", "context"), released);
  }

  @Test
  void closingEndsBesideACreationThatDoesNot() throws InterruptedException {
    CountDownLatch begun = new CountDownLatch(1);
    CountDownLatch goOn = new CountDownLatch(1);
    Thing context = thing("context");
    Thread maker =
        Thread.ofPlatform()
            .name("maker")
            .start(
                () ->
                    Core.make(
                        List.of(context),
                        () -> {
                          begun.countDown();
                          awaitQuietly(goOn);
                          return 1;
                        },
                        address -> released.add("slow"),
                        core -> new Thing(core, "slow")));
    begun.await();
    var thrown =
        assertThrows(IllegalStateException.class, () -> context.core.close(Duration.ofMillis(10)));
    assertEquals(
        "context cannot be closed: thread maker does not return from a call with it, or from"
            + " creating an object on it",
        thrown.getMessage());
    assertTrue(context.isOpen());
    goOn.countDown();
    maker.join();
    context.close();
    assertEquals(List.of("slow", "context"), released);
  }

  @Test
  void closingEndsBesideAnotherThatDoesNot() throws InterruptedException {
    CountDownLatch inside = new CountDownLatch(1);
    CountDownLatch goOn = new CountDownLatch(1);
    Thing slow =
        thing(
            "slow",
            () -> {
              inside.countDown();
              awaitQuietly(goOn);
              released.add("slow");
            });
    Thread closer = Thread.ofPlatform().name("closer").start(slow::close);
    inside.await();
    Thread.currentThread().interrupt();
    var thrown =
        assertThrows(IllegalStateException.class, () -> slow.core.close(Duration.ofMillis(10)));
    assertTrue(Thread.interrupted(), "the interrupt is kept");
    assertEquals("slow cannot be closed: thread closer is closing it", thrown.getMessage());
    goOn.countDown();
    closer.join();
    slow.close();
    assertEquals(List.of("slow"), released);
  }

  @Test
  void failedCreationDoesNotPreventClosing() {
    Thing context = thing("context");
    var failure = new VerbsException("ibv_create_cq", Errno.ENOMEM);
    assertSame(
        failure,
        assertThrows(
            VerbsException.class,
            () ->
                Core.make(
                    List.of(context),
                    () -> {
                      throw failure;
                    },
                    address -> released.add("nothing"),
                    core -> new Thing(core, "nothing"))));
    context.close();
    assertEquals(List.of("context"), released);
  }

  @Test
  void anObjectWhoseOwnerCannotBeMadeIsDestroyed() {
    Thing context = thing("context");
    var error = new OutOfMemoryError("for the owner");
    var busy = new VerbsException("ibv_destroy_cq", Errno.EBUSY);
    for (boolean refuses : List.of(false, true)) {
      assertSame(
          error,
          assertThrows(
              OutOfMemoryError.class,
              () ->
                  Core.make(
                      List.of(context),
                      () -> 17,
                      address -> {
                        released.add("object " + address);
                        if (refuses) {
                          throw busy;
                        }
                      },
                      core -> {
                        throw error;
                      })));
    }
    assertEquals(List.of("object 17", "object 17"), released);
    assertEquals(List.of(busy), List.of(error.getSuppressed()));
    context.close();
  }

  @Test
  void theEndOfACallClosesWhatBecameUnusedMeanwhile() {
    Thing context = thing("context");
    Thing other = thing("other");
    Thing domain = thing("domain", context);
    context.core.closeWhenUnused();
    Core.whileOpen(
        List.of(context, other),
        () -> {
          context.core.whileOpen(domain::close);
          assertTrue(context.isOpen(), "the outer call uses it");
        });
    assertFalse(context.isOpen());
    assertEquals(List.of("domain", "context"), released);
    other.close();
  }

  @Test
  void theEndOfACreationThatFailsClosesWhatBecameUnusedMeanwhile() {
    Thing context = thing("context");
    Thing domain = thing("domain", context);
    context.core.closeWhenUnused();
    var failure = new VerbsException("ibv_create_cq", Errno.EIO);
    assertSame(
        failure,
        assertThrows(
            VerbsException.class,
            () ->
                Core.make(
                    List.of(context),
                    () -> {
                      domain.close();
                      throw failure;
                    },
                    address -> released.add("nothing"),
                    core -> new Thing(core, "nothing"))));
    assertEquals(List.of("domain", "context"), released);
  }

  @Test
  void anObjectThatIsUnusedButCannotBeClosedFailsNoCall() {
    AtomicBoolean busy = new AtomicBoolean(true);
    Thing context =
        thing(
            "context",
            () -> {
              released.add("context");
              if (busy.get()) {
                throw new VerbsException("ibv_close_device", Errno.EBUSY);
              }
            });
    Thing domain = thing("domain", context);
    context.core.closeWhenUnused();
    domain.close();
    assertTrue(context.isOpen());
    assertEquals(17, context.core.whileOpen(() -> 17));
    busy.set(false);
    context.core.whileOpen(() -> released.add("call"));
    assertEquals(List.of("domain", "context", "context", "call", "context"), released);
  }

  /** Creates objects at each depth of a stack that is full, until some could be created. */
  private static final class NearTheEndOfTheStack {
    private final Thing context;
    private final AtomicInteger created = new AtomicInteger();
    private final List<Thing> owned = new ArrayList<>();
    private int refused;

    NearTheEndOfTheStack(Thing context) {
      this.context = context;
    }

    void create() {
      Thing made =
          Core.make(
              List.of(context),
              created::incrementAndGet,
              address -> created.decrementAndGet(),
              core -> new Thing(core, "thing"));
      owned.add(made);
    }

    @SuppressWarnings("InfiniteRecursion") // Until the stack is full.
    void descend() {
      try {
        descend();
      } catch (StackOverflowError e) {
        refused++;
      }
      if (owned.size() > 10) {
        return;
      }
      try {
        create();
      } catch (StackOverflowError e) {
        refused++;
      }
    }
  }

  @Test
  void aFullStackLeavesNothingBehind() throws InterruptedException {
    Thing context = thing("context");
    var stack = new NearTheEndOfTheStack(context);
    stack.create(); // Initializes classes.
    for (int round = 0; round < 5; round++) {
      Thread deep = new Thread(null, stack::descend, "deep", 512 << 10);
      deep.start();
      deep.join();
      assertTrue(stack.owned.size() > 10);
      assertEquals(stack.owned.size(), stack.created.get(), "objects that nothing owns");
      stack.owned.forEach(Resource::close);
      assertEquals(0, stack.created.get());
      stack.owned.clear();
    }
    assertTrue(stack.refused > 0, stack.refused + " times the stack was full");
    context.close();
  }

  @Test
  void ofManyThreadsThatCloseOneReleasesAndTheOthersWait() throws InterruptedException {
    AtomicInteger releases = new AtomicInteger();
    CountDownLatch inside = new CountDownLatch(1);
    CountDownLatch goOn = new CountDownLatch(1);
    Thing thing =
        thing(
            "thing",
            () -> {
              inside.countDown();
              awaitQuietly(goOn);
              releases.incrementAndGet();
            });
    List<Thread> closers = new ArrayList<>();
    AtomicInteger sawItOpen = new AtomicInteger();
    for (int i = 0; i < 8; i++) {
      closers.add(
          Thread.ofVirtual()
              .start(
                  () -> {
                    thing.close();
                    sawItOpen.addAndGet(releases.get() == 1 ? 0 : 1);
                  }));
    }
    inside.await();
    assertFalse(thing.isOpen(), "closing has begun");
    assertThrows(IllegalStateException.class, thing::segment);
    goOn.countDown();
    for (Thread closer : closers) {
      closer.join();
    }
    assertEquals(1, releases.get());
    assertEquals(0, sawItOpen.get(), "close returned before the release");
  }

  @Test
  void waitersReturnBeforeTheRelease() {
    List<String> order = new ArrayList<>();
    class Waited extends Resource {
      Waited(Core core) {
        super(core);
        core.beforeClose(
            () -> {
              assertFalse(isOpen());
              order.add("stop waiting");
            });
      }
    }

    Waited waited = Core.make(List.of(), () -> 1, address -> order.add("release"), Waited::new);
    thing("child", () -> order.add("child"), waited);
    waited.close();
    assertEquals(List.of("stop waiting", "child", "release"), order);
  }

  @Test
  void anObjectIsFoundByItsAddress() {
    Thing context = thing("context");
    Thing pd = thing("pd", context);
    Thing qp = thing("qp", pd);
    assertSame(qp, context.core.find(Thing.class, "qp".hashCode()));
    assertSame(pd, context.core.find(Thing.class, "pd".hashCode()));
    assertEquals(null, context.core.find(QueuePair.class, "qp".hashCode()));
    qp.close();
    assertEquals(null, context.core.find(Thing.class, "qp".hashCode()));
    context.close();
  }

  @Test
  void anObjectThatMovedIsClosedByItsNewParent() {
    Thing first = thing("first");
    Thing second = thing("second");
    Thing mr = thing("mr", first);
    mr.core.replaceParent(first, second);
    first.close();
    assertTrue(mr.isOpen());
    second.close();
    assertEquals(List.of("first", "mr", "second"), released);
  }

  @Test
  void anObjectWhoseNewParentIsClosedIsClosedWithoutItsLock() {
    Thing first = thing("first");
    Thing second = thing("second");
    List<Core> moved = new ArrayList<>();
    List<Boolean> isLocked = new ArrayList<>();
    Thing mr = thing("mr", () -> isLocked.add(Thread.holdsLock(moved.getFirst())), first);
    moved.add(mr.core);
    second.close();
    assertThrows(IllegalStateException.class, () -> mr.core.replaceParent(first, second));
    assertFalse(mr.isOpen());
    assertEquals(List.of(false), isLocked);
    first.close();
  }

  @Test
  void aClosedObjectDoesNotMove() {
    Thing first = thing("first");
    Thing second = thing("second");
    Thing mr = thing("mr", first);
    mr.close();
    var thrown = assertThrows(IllegalStateException.class, () -> mr.core.moveTo(second));
    assertEquals("mr is closed", thrown.getMessage());
    assertThrows(IllegalStateException.class, () -> mr.core.replaceParent(first, second));
    second.close();
    first.close();
    assertEquals(List.of("mr", "second", "first"), released);
  }

  @Test
  void anObjectThatIsBeingClosedDoesNotMove() throws InterruptedException {
    CountDownLatch closing = new CountDownLatch(1);
    CountDownLatch goOn = new CountDownLatch(1);
    Thing first = thing("first");
    Thing second = thing("second");
    Thing mr =
        thing(
            "mr",
            () -> {
              closing.countDown();
              awaitQuietly(goOn);
            },
            first);
    Thread closer = Thread.ofPlatform().start(mr::close);
    closing.await();
    assertThrows(IllegalStateException.class, () -> mr.core.moveTo(second));
    goOn.countDown();
    closer.join();
    second.close();
    assertEquals(List.of("second"), released);
  }

  @Test
  void aParentThatACallAddsIsClosedAfterTheObject() throws InterruptedException {
    Thing counter = thing("counter");
    Thing qp = thing("qp");
    Thread closer = Thread.ofPlatform().daemon().unstarted(counter::close);
    Core.whileOpen(
        List.of(qp, counter),
        () -> {
          closer.start();
          Await.waits(closer);
          qp.core.addParent(counter); // After C, whose counter is used now.
        });
    closer.join();
    assertEquals(List.of("qp", "counter"), released);
  }

  @Test
  void aParentDoesNotWaitUntilAClosedChildHasLeftIt() throws InterruptedException {
    Thing first = thing("first");
    Thing second = thing("second");
    Thing child = thing("child", first, second);
    Thread parentCloser;
    Thread childCloser;
    synchronized (first.core) { // Keeps the child from leaving, when it is closed already.
      childCloser = Thread.ofPlatform().daemon().start(child::close);
      Thread blocked = childCloser;
      Await.until("the lock", () -> blocked.getState() == Thread.State.BLOCKED);
      parentCloser = Thread.ofPlatform().daemon().start(second::close);
      parentCloser.join();
    }
    childCloser.join();
    first.close();
    assertEquals(List.of("child", "second", "first"), released);
  }

  @Test
  void aMakerCannotCloseItsParents() {
    Thing context = thing("context");
    Thing domain = thing("domain", context);
    for (Thing ancestor : List.of(domain, context)) {
      var thrown =
          assertThrows(
              IllegalStateException.class,
              () ->
                  Core.make(
                      List.of(domain),
                      () -> {
                        ancestor.close();
                        return 1;
                      },
                      address -> released.add("child"),
                      core -> new Thing(core, "child")));
      assertEquals(
          ancestor
              + " cannot be closed here: this thread is closing "
              + (ancestor == domain ? "it" : "domain")
              + " or creating an object on it",
          thrown.getMessage());
    }
    assertEquals(List.of(), released);
    context.close();
    assertEquals(List.of("domain", "context"), released);
  }

  @Test
  void aReleaseActionCannotCloseItsObjectOrAParent() {
    Thing context = thing("context");
    for (boolean parent : List.of(true, false)) {
      List<Runnable> actions = new ArrayList<>();
      Thing child = thing("child", () -> actions.forEach(Runnable::run), context);
      actions.add(parent ? context::close : child::close);
      assertThrows(IllegalStateException.class, child::close);
      assertTrue(child.isOpen());
      assertThrows(IllegalStateException.class, context::close);
      assertTrue(context.isOpen());
      actions.clear();
      child.close();
    }
    context.close();
    assertEquals(List.of("context"), released);
  }

  @Test
  void aReleaseActionCannotCloseAParentThatAnotherThreadCloses() throws InterruptedException {
    CountDownLatch inside = new CountDownLatch(1);
    CountDownLatch goOn = new CountDownLatch(1);
    Thing context = thing("context");
    List<Throwable> refused = Collections.synchronizedList(new ArrayList<>());
    Thing child =
        thing(
            "child",
            () -> {
              inside.countDown();
              awaitQuietly(goOn);
              refused.add(assertThrows(IllegalStateException.class, context::close));
              released.add("child");
            },
            context);
    Thread childCloser = Thread.ofPlatform().daemon().start(child::close);
    inside.await();
    Thread parentCloser = Thread.ofPlatform().daemon().start(context::close);
    Await.waits(parentCloser);
    goOn.countDown();
    parentCloser.join();
    childCloser.join();
    assertEquals(1, refused.size());
    assertEquals(List.of("child", "context"), released);
  }

  private static void awaitQuietly(CountDownLatch latch) {
    try {
      latch.await();
    } catch (InterruptedException e) {
      throw new AssertionError(e);
    }
  }
}
