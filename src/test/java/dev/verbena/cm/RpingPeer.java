package dev.verbena.cm;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.verbena.messages.Connection;
import dev.verbena.testing.Program;
import dev.verbena.values.AccessFlag;
import dev.verbena.verbs.MemoryRegion;
import dev.verbena.verbs.RemoteMemory;
import java.lang.foreign.Arena;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.nio.ByteBuffer;
import java.util.List;

/**
 * rping: the client names its buffers, the server reads from the one and writes to the other, and
 * each tells when it is done.
 */
final class RpingPeer implements PeerProgram {
  private static final int ROUNDS = 3;
  static final int MESSAGE = 16;

  @Override
  public String name() {
    return "rping";
  }

  @Override
  public int port() {
    return 7481;
  }

  @Override
  public List<String> server(Host host) {
    return List.of("rping", "-s", "-a", host.digits(), "-p", "" + port(), "-C", "" + ROUNDS, "-v");
  }

  @Override
  public List<String> client(Host host, Host server) {
    List<String> rping = List.of("rping", "-c", "-p", "" + port(), "-C", "" + ROUNDS, "-v");
    return Program.with(rping, "-a", server.digits(), "-I", host.digits());
  }

  @Override
  public String proof() {
    return "rdma-ping-" + (ROUNDS - 1);
  }

  @Override
  public void connect(InetAddress from, InetSocketAddress to) throws Exception {
    try (Arena arena = Arena.ofShared();
        Connection server = PeerProgram.connect(from, to, MESSAGE)) {
      MemoryRegion source = exposed(server, arena);
      MemoryRegion sink = exposed(server, arena);
      for (int i = 0; i < ROUNDS; i++) {
        source.memory().setString(0, "rdma-ping-" + i + ": from Java");
        server.send(describe(source));
        server.receive(SOON);
        server.send(describe(sink));
        server.receive(SOON);
        assertEquals("rdma-ping-" + i + ": from Java", sink.memory().getString(0));
      }
    }
  }

  @Override
  public void serve(Listener listener) throws Exception {
    try (Arena arena = Arena.ofShared();
        Connection client = PeerProgram.accept(listener, MESSAGE)) {
      MemoryRegion data = exposed(client, arena);
      for (int i = 0; i < ROUNDS; i++) {
        RemoteMemory source = described(client.receive(SOON));
        client.read(data, 0, source.length(), source, 0);
        assertTrue(data.memory().getString(0).startsWith("rdma-ping-" + i));
        client.send(new byte[MESSAGE]);
        RemoteMemory sink = described(client.receive(SOON));
        client.write(data, 0, source.length(), sink, 0);
        if (i < ROUNDS - 1) {
          client.send(new byte[MESSAGE]);
        } else {
          PeerProgram.sendLast(client, new byte[MESSAGE]);
        }
      }
      assertNull(client.receive(SOON), "the end of the connection was expected");
    }
  }

  static MemoryRegion exposed(Connection connection, Arena arena) {
    return connection
        .endpoint()
        .id()
        .domain()
        .registerMemory(
            arena.allocate(64),
            AccessFlag.LOCAL_WRITE,
            AccessFlag.REMOTE_READ,
            AccessFlag.REMOTE_WRITE);
  }

  /** rping's message: where a buffer is, in network order. */
  private static byte[] describe(MemoryRegion region) {
    return ByteBuffer.allocate(MESSAGE)
        .putLong(region.start())
        .putInt(region.rkey())
        .putInt((int) region.length())
        .array();
  }

  private static RemoteMemory described(byte[] message) {
    ByteBuffer buffer = ByteBuffer.wrap(message);
    long address = buffer.getLong();
    int rkey = buffer.getInt();
    return RemoteMemory.at(address, buffer.getInt(), rkey);
  }
}
