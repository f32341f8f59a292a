package dev.verbena.sockets;

import static org.openjdk.jcstress.annotations.Expect.ACCEPTABLE;
import static org.openjdk.jcstress.annotations.Expect.FORBIDDEN;

import dev.verbena.testing.Await;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.channels.SelectionKey;
import java.nio.channels.spi.AbstractSelectableChannel;
import java.util.List;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.ThreadLocalRandom;
import org.openjdk.jcstress.annotations.Actor;
import org.openjdk.jcstress.annotations.JCStressTest;
import org.openjdk.jcstress.annotations.Outcome;
import org.openjdk.jcstress.annotations.State;
import org.openjdk.jcstress.infra.results.I_Result;

/**
 * A thread that selects, and another one that makes it return. If the selection misses that,
 * neither thread ends, and the test fails by its timeout.
 */
final class SelectorStress {
  private static final int MOST_PAUSES = 256;

  /** One for all tests: a selector has file descriptors. */
  private static final EventSelector SELECTOR;

  private static final ChangedChannel CHANNEL = new ChangedChannel();
  private static final EventKey KEY;

  static {
    try {
      SELECTOR = new EventSelector(CHANNEL.provider());
      CHANNEL.configureBlocking(false);
      KEY = (EventKey) CHANNEL.register(SELECTOR, SelectionKey.OP_READ);
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }

  private SelectorStress() {}

  /** Two threads that take turns: the one that selects, and the one that ends the selection. */
  abstract static class Turn {
    private volatile boolean isOver;

    final void end() {
      isOver = true;
    }

    /** Lets the selection come to any point. */
    final void pause() {
      for (int i = ThreadLocalRandom.current().nextInt(MOST_PAUSES); i > 0; i--) {
        Thread.onSpinWait();
      }
    }

    final void awaitEnd() {
      for (int tries = 0; !isOver; tries++) {
        Await.spin(tries);
      }
    }
  }

  @JCStressTest
  @State
  @Outcome(id = "1", expect = ACCEPTABLE, desc = "The selection returned.")
  @Outcome(expect = FORBIDDEN, desc = "The selection did not return.")
  public static class WakeUp extends Turn {
    private volatile boolean isTold;

    @Actor
    public void select(I_Result result) {
      while (!isTold) {
        int _ = selected();
      }
      result.r1 = 1;
      end();
    }

    @Actor
    public void wake() {
      pause();
      isTold = true;
      SELECTOR.wakeup();
      awaitEnd();
    }
  }

  @JCStressTest
  @State
  @Outcome(id = "1", expect = ACCEPTABLE, desc = "The selection returned the channel.")
  @Outcome(expect = FORBIDDEN, desc = "The selection did not return the channel.")
  public static class Change extends Turn {
    @Actor
    public void select(I_Result result) {
      result.r1 = selected();
      SELECTOR.selectedKeys().clear();
      CHANNEL.isReady = false;
      end();
    }

    @Actor
    public void change() {
      pause();
      KEY.changed(); // Which does not make it ready.
      pause();
      CHANNEL.isReady = true;
      KEY.changed();
      awaitEnd();
    }
  }

  private static int selected() {
    try {
      return SELECTOR.select();
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }

  /** A channel without a descriptor. */
  private static final class ChangedChannel extends AbstractSelectableChannel
      implements PolledChannel {
    private final List<EventKey> keys = new CopyOnWriteArrayList<>();
    private volatile boolean isReady;

    ChangedChannel() {
      super(new RdmaSelectorProvider());
    }

    @Override
    public List<EventKey> keys() {
      return keys;
    }

    @Override
    public int descriptor() {
      return -1;
    }

    @Override
    public int events(int operations) {
      return 0;
    }

    @Override
    public void readEvents(EventKey key) {
      throw new AssertionError("no descriptor");
    }

    @Override
    public boolean isReportedWhileReady() {
      return false;
    }

    @Override
    public int readyOperations(int operations, int events) {
      return isReady ? operations : 0;
    }

    @Override
    public int validOps() {
      return SelectionKey.OP_READ;
    }

    @Override
    protected void implCloseSelectableChannel() {}

    @Override
    protected void implConfigureBlocking(boolean block) {}
  }
}
