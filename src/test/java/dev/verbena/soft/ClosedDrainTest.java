package dev.verbena.soft;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.verbena.testing.Await;
import dev.verbena.values.QueuePairCapacity;
import dev.verbena.values.QueuePairType;
import dev.verbena.verbs.CompletionQueue;
import dev.verbena.verbs.QueuePair;
import dev.verbena.verbs.ReceiveList;
import org.junit.jupiter.api.Test;

/** A queue pair that is closed while it is drained, which discards its completions. */
class ClosedDrainTest {
  /** More than are polled at once. */
  private static final int RECEIVES = 30;

  @Test
  void drainingEnds() {
    try (SoftPair pair = SoftPair.unconnected();
        CompletionQueue queue = pair.a.context.completionQueue(64).create();
        QueuePair queuePair =
            QueuePair.builder(pair.a.domain, QueuePairType.RC)
                .completions(queue)
                .capacity(QueuePairCapacity.of(RECEIVES + 2))
                .create()) {
      queuePair.connect(queuePair.localAddress());
      ReceiveList receives = new ReceiveList(RECEIVES, 1);
      for (int i = 0; i < RECEIVES; i++) {
        receives.id(i, i);
      }
      assertEquals(RECEIVES, queuePair.post(receives));
      Runnable close = queuePair::close;
      var ended =
          assertThrows(
              IllegalStateException.class,
              () -> queuePair.failAndDrain(Await.LIMIT, (completions, i) -> close.run()));
      assertTrue(ended.getMessage().contains("closed"), ended.getMessage());
    }
  }
}
