package example;

import static java.nio.charset.StandardCharsets.UTF_8;
import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;

import dev.verbena.Errno;
import dev.verbena.RdmaException;
import dev.verbena.messages.Connection;
import dev.verbena.soft.SoftHosts;
import dev.verbena.values.AccessFlag;
import dev.verbena.verbs.ProtectionDomain;
import java.net.InetSocketAddress;
import java.util.Map;
import org.junit.jupiter.api.Test;

class KeyValueServerTest {
  // Two connected ends in one line.
  @Test
  void aMessageArrives() throws Exception {
    try (SoftHosts hosts = SoftHosts.create()) {
      hosts.client().send("hello".getBytes(UTF_8));
      assertArrayEquals("hello".getBytes(UTF_8), hosts.server().receive());
    }
  }

  // Code under test that listens and connects itself.
  @Test
  void theServerAnswers() throws Exception {
    try (SoftHosts hosts = SoftHosts.create()) {
      InetSocketAddress address = new InetSocketAddress(hosts.serverAddress(), 7000);
      String answer =
          hosts.call(
              () -> {
                try (KeyValueServer server = new KeyValueServer(address, Map.of("k", "v"))) {
                  Thread thread = Thread.ofVirtual().start(server);
                  try (Connection client = Connection.connect(address)) {
                    client.send("k".getBytes(UTF_8));
                    return new String(client.receive(), UTF_8);
                  } finally {
                    thread.join();
                  }
                }
              });
      assertEquals("v", answer);
    }
  }

  // Faults: every packet that is lost is sent again.
  @Test
  void lossIsRepaired() throws Exception {
    try (SoftHosts hosts = SoftHosts.create()) {
      Connection client = hosts.client();
      hosts.faults().seed(42).loss(0.05);
      for (int i = 0; i < 50; i++) {
        client.send(new byte[] {(byte) i});
        assertArrayEquals(new byte[] {(byte) i}, hosts.server().receive());
      }
    }
  }

  // A call that fails as it may in production.
  @Test
  void memoryCannotBeRegistered() {
    try (SoftHosts hosts = SoftHosts.create();
        ProtectionDomain domain = hosts.clientContext().allocateProtectionDomain()) {
      hosts.faults().fail("ibv_reg_mr", 1, Errno.ENOMEM);
      assertThrows(RdmaException.class, () -> domain.allocateMemory(4096, AccessFlag.LOCAL_WRITE));
    }
  }

  // What the code under test does not close fails the test.
  @Test
  void aLeakIsReported() {
    SoftHosts hosts = SoftHosts.create();
    hosts.clientContext().device().open();
    IllegalStateException leak = assertThrows(IllegalStateException.class, hosts::close);
    assertEquals("not closed: {context=1}", leak.getMessage());
  }
}
