package dev.verbena.internal.mlx5;

import dev.verbena.raw.ibv_qp;
import dev.verbena.testing.ForkedJvm;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

/** The {@code wr_id} of a completion, while another thread posts to the full queue. */
class PosterAndPollerTest {
  /** Of the requests that were completed too early, few were overwritten in time. */
  private static final int REQUESTS = 5_000_000;

  @Test
  void receivesCompleteWithTheirIds() {
    PosterAndPoller.receiveQueue(REQUESTS);
  }

  @Test
  void sendsCompleteWithTheirIds() {
    PosterAndPoller.sendQueue(REQUESTS);
  }

  @Test
  void sharedReceivesCompleteWithTheirIds() {
    PosterAndPoller.sharedReceiveQueue(REQUESTS / 10);
  }

  /** The compiler that reorders most; the tests themselves run with C1. */
  @Test
  @Tag("slow")
  void completeWithTheirIdsUnderC2() {
    new ForkedJvm()
        .withNativeAccess()
        .withJarOf(ibv_qp.class)
        .with("-XX:-TieredCompilation")
        .run(PosterAndPoller.class, Integer.toString(REQUESTS))
        .succeeded();
  }
}
