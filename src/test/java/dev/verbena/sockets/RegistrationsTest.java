package dev.verbena.sockets;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertSame;
import static org.junit.jupiter.api.Assertions.assertThrows;

import java.io.IOException;
import java.nio.channels.ClosedSelectorException;
import java.nio.channels.SelectionKey;
import java.nio.channels.Selector;
import java.nio.channels.spi.AbstractSelectableChannel;
import java.util.ArrayList;
import java.util.List;
import java.util.Set;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;

/** What other threads do with a selector while a channel is registered, at the worst moment. */
class RegistrationsTest {
  private final RdmaSelectorProvider provider = new RdmaSelectorProvider();
  private final EventSelector selector = new EventSelector(provider);
  private final Registered channel = new Registered();

  RegistrationsTest() throws IOException {
    channel.configureBlocking(false);
  }

  @AfterEach
  void close() throws IOException {
    channel.close();
    selector.close();
  }

  /** What is done when the selector has the key, and the channel does not. */
  private interface Action {
    void run() throws IOException;
  }

  /** A channel in whose registration something happens. */
  private final class Registered extends AbstractSelectableChannel implements PolledChannel {
    private final List<EventKey> keys = new ArrayList<>();
    private final List<SelectionKey> seen = new ArrayList<>();
    private Action meanwhile = () -> {};

    Registered() {
      super(provider);
    }

    @Override
    public List<EventKey> keys() {
      Action action = meanwhile;
      meanwhile = () -> {}; // Which calls this, too.
      seen.addAll(selector.isOpen() ? selector.keys() : Set.of());
      try {
        action.run();
      } catch (IOException e) {
        throw new AssertionError(e);
      }
      return keys;
    }

    @Override
    public int readyOperations(int operations, int events) {
      return 0;
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

  /** A key that stays valid is attached to the descriptor of whatever the process opens next. */
  @Test
  void keyOfASelectorThatIsClosedMeanwhileIsNotValid() {
    channel.meanwhile = selector::close;
    assertThrows(
        ClosedSelectorException.class, () -> channel.register(selector, SelectionKey.OP_READ));
    assertFalse(channel.seen.getFirst().isValid());
    assertFalse(channel.isRegistered());
  }

  @Test
  void keyThatIsCancelledMeanwhileIsReturned() throws IOException {
    channel.meanwhile = () -> selector.keys().forEach(SelectionKey::cancel);
    SelectionKey key = channel.register(selector, SelectionKey.OP_READ);
    assertSame(channel.seen.getFirst(), key);
    assertFalse(key.isValid());
    Selector _ = selector.wakeup();
    assertEquals(0, selector.select());
    assertFalse(channel.isRegistered());
    assertEquals(Set.of(), selector.keys());
  }
}
