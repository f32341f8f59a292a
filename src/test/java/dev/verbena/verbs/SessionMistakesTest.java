package dev.verbena.verbs;

import static dev.verbena.testing.DeviceKind.MLX5;
import static dev.verbena.testing.DeviceKind.SOFTWARE;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import dev.verbena.internal.life.Core;
import dev.verbena.testing.Await;
import dev.verbena.testing.DeviceTest;
import dev.verbena.testing.On;
import dev.verbena.testing.Rig;
import dev.verbena.values.AccessFlag;
import dev.verbena.values.QueuePairCapacity;
import dev.verbena.values.QueuePairType;
import java.lang.reflect.Field;
import java.util.Set;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;

/** What a session does about objects that are closed or changed; the same on every device. */
@On(
    value = {MLX5, SOFTWARE},
    reason = "about checks of the library")
class SessionMistakesTest {
  private static final int REQUESTS = 2;

  private Context context;
  private ProtectionDomain domain;
  private CompletionQueue queue;
  private QueuePair pair;
  private MemoryRegion region;
  private QueuePairSession session;

  @BeforeEach
  void open() {
    context = Rig.a().open();
    domain = context.allocateProtectionDomain();
    queue = context.completionQueue(16).create();
    pair = pair(1);
    pair.connect(pair.localAddress());
    region = region();
    session = QueuePairSession.on(pair, queue, REQUESTS);
    for (int i = 0; i < REQUESTS; i++) {
      session.write(i, region.start() + 64, region.rkey());
      session.local(i, i, region, 0, 8);
      session.signaled(i, true);
    }
  }

  @AfterEach
  void close() {
    context.close();
  }

  private QueuePair pair(int sges) {
    return QueuePair.builder(domain, QueuePairType.RC)
        .completions(queue)
        .capacity(QueuePairCapacity.of(4).withSendSges(sges))
        .create();
  }

  private MemoryRegion region() {
    return domain.allocateMemory(
        128, AccessFlag.LOCAL_WRITE, AccessFlag.REMOTE_WRITE, AccessFlag.REMOTE_READ);
  }

  private void postFirst() {
    assertEquals(1, session.post(0, 1));
    for (int tries = 0; !session.next(); tries++) {
      Await.spin(tries);
    }
    assertTrue(session.isSuccess(), session::describe);
  }

  /** Posting fails until the request names another region; polling does not change that. */
  private void isRefused(Class<? extends Exception> type, String message) {
    for (int i = 0; i < 3; i++) {
      Exception e = assertThrows(type, () -> session.post(0, REQUESTS));
      assertTrue(e.getMessage().contains(message), e.toString());
      assertFalse(session.next());
      postFirst();
    }
    session.local(1, 1, region, 0, 8);
    assertEquals(1, session.post(1, 1));
  }

  private MemoryRegion namedBySecond() {
    MemoryRegion other = region();
    session.local(1, 1, other, 0, 8);
    postFirst();
    return other;
  }

  @DeviceTest
  void aClosedRegionIsRefused() {
    namedBySecond().close();
    isRefused(IllegalStateException.class, "is closed");
  }

  @DeviceTest
  void aRegionThatWasMovedToAnotherDomainIsRefused() {
    namedBySecond().reregister().domain(context.allocateProtectionDomain()).apply();
    isRefused(IllegalArgumentException.class, "another protection domain");
  }

  @DeviceTest
  void aRegionThatIsNotWritableAnyMoreIsRefusedByReads() {
    session.read(1, region.start(), region.rkey());
    namedBySecond().reregister().access(Set.of()).apply();
    isRefused(IllegalArgumentException.class, "without LOCAL_WRITE");
  }

  @DeviceTest
  void aRegionWhoseChangeFailedIsRefused() throws ReflectiveOperationException {
    MemoryRegion other = namedBySecond();
    Field unusable = MemoryRegion.class.getDeclaredField("unusable");
    unusable.setAccessible(true);
    unusable.setBoolean(other, true);
    Core.revalidateAll();
    isRefused(IllegalStateException.class, "cannot be used");
  }

  @DeviceTest
  void aClosedQueuePairIsRefusedByPostAndNext() {
    postFirst();
    pair.close();
    for (int i = 0; i < 2; i++) {
      Exception post = assertThrows(IllegalStateException.class, () -> session.post(0, 1));
      assertTrue(post.getMessage().contains("is closed"), post.toString());
      Exception next = assertThrows(IllegalStateException.class, session::next);
      assertTrue(next.getMessage().contains("is closed"), next.toString());
      assertThrows(IllegalStateException.class, session::id);
    }
  }

  @DeviceTest
  void aQueuePairWithoutSgesIsGivenNone() {
    QueuePair without = pair(0);
    assumeTrue(without.capacity().sendSges() == 0, "the device has an SGE nonetheless");
    QueuePairSession ofWithout = QueuePairSession.on(without, queue, 1);
    ofWithout.write(0, region.start(), region.rkey());
    Exception e =
        assertThrows(IllegalArgumentException.class, () -> ofWithout.local(0, 0, region, 0, 8));
    assertTrue(e.getMessage().contains("allows 0"), e.toString());
  }

  @DeviceTest
  void noRequestIsPostedInAnyState() {
    QueuePairSession inReset = QueuePairSession.on(pair(1), queue, 1);
    inReset.send(0);
    assertEquals(0, inReset.post(0, 0));
    Exception e = assertThrows(IllegalStateException.class, () -> inReset.post(0, 1));
    assertTrue(e.getMessage().contains("RESET"), e.toString());
  }
}
