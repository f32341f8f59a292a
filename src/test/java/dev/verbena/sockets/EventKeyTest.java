package dev.verbena.sockets;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.nio.channels.SelectionKey;
import java.nio.channels.SocketChannel;
import org.junit.jupiter.api.Test;

/** What a selection finds of a key that it examines more than once. */
class EventKeyTest {
  @Test
  void whatEventsShowedIsKeptWithoutThem() throws IOException {
    try (SocketChannel tcp = SocketChannel.open();
        EventSelector selector = new EventSelector(new RdmaSelectorProvider())) {
      EventKey key = new EventKey(tcp, new JdkChannel(tcp), selector, 1);
      assertTrue(key.found(SelectionKey.OP_CONNECT, 1));
      assertFalse(key.found(0, 1));
      assertEquals(SelectionKey.OP_CONNECT, key.found());
      assertTrue(key.found(0, 2));
      assertEquals(0, key.found());
    }
  }
}
