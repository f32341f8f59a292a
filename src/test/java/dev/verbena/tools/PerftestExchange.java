package dev.verbena.tools;

import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.verbena.address.Gid;
import dev.verbena.address.Mtu;
import dev.verbena.address.QueuePairAddress;
import dev.verbena.testing.Await;
import dev.verbena.testing.Program;
import dev.verbena.verbs.MemoryRegion;
import java.io.DataInputStream;
import java.io.IOException;
import java.net.ConnectException;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.net.Socket;
import java.net.SocketTimeoutException;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.HexFormat;
import java.util.List;

/**
 * The exchange by TCP of perftest's programs (perftest_communication.c), with a path MTU of 1024:
 * in each step the client sends first, then the server answers.
 */
final class PerftestExchange implements AutoCloseable {
  /** The MTU that both ends say. */
  static final Mtu MTU = Mtu.MTU_1024;

  private static final String MTU_CODE = "3";
  private static final byte[] VERSION = padded("6.06", 16);
  private static final int LOOK_AFTER = 100;
  private static final int PAGE = 4096;
  private static final int CACHE_LINE = 64;
  private static final int KEYS_LENGTH = 108;
  private static final int REPORTS = 5;

  private final Socket socket;
  private final DataInputStream in;
  private final boolean client;

  /** What the other end says of itself. */
  record Remote(QueuePairAddress address, int rkey, long memory) {}

  private PerftestExchange(Socket socket, boolean client) throws IOException {
    this.socket = socket;
    this.client = client;
    in = new DataInputStream(socket.getInputStream());
    exchange(VERSION);
    exchange(ByteBuffer.allocate(Integer.BYTES).putInt(PAGE).array());
    exchange(ByteBuffer.allocate(Integer.BYTES).putInt(CACHE_LINE).array());
    exchange(padded(MTU_CODE, 2));
  }

  /** Connects to a server, which may not listen yet. */
  static PerftestExchange connect(Program server, int port)
      throws IOException, InterruptedException {
    while (true) {
      try {
        return new PerftestExchange(new Socket(InetAddress.getLoopbackAddress(), port), true);
      } catch (ConnectException e) {
        assertTrue(server.process().isAlive(), server::text);
        Await.pass(Duration.ofMillis(LOOK_AFTER), "the server does not listen yet");
      }
    }
  }

  /** Waits for a client. */
  static PerftestExchange accept(ServerSocket server, Program client) throws IOException {
    server.setSoTimeout(LOOK_AFTER);
    while (true) {
      try {
        return new PerftestExchange(server.accept(), false);
      } catch (SocketTimeoutException e) {
        assertTrue(client.process().isAlive(), client::text);
      }
    }
  }

  private static byte[] padded(String text, int length) {
    return ByteBuffer.allocate(length).put(text.getBytes(StandardCharsets.US_ASCII)).array();
  }

  private byte[] exchange(byte[] message) throws IOException {
    if (client) {
      socket.getOutputStream().write(message);
    }
    byte[] theirs = in.readNBytes(message.length);
    if (theirs.length < message.length) {
      throw new IOException("the other end closed the connection");
    }
    if (!client) {
      socket.getOutputStream().write(message);
    }
    return theirs;
  }

  /** Exchanges addresses; also the sign that both ends are ready for the next step. */
  Remote keys(QueuePairAddress local, MemoryRegion region) throws IOException {
    String gid = HexFormat.ofDelimiter(":").formatHex(local.gid().toBytes());
    String keys =
        "%04x:%04x:%06x:%06x:%08x:%016x:%s:%08x:"
            .formatted(
                local.lid(),
                local.reads(),
                local.number(),
                local.psn(),
                region.rkey(),
                region.start(),
                gid,
                0);
    String text = new String(exchange(padded(keys, KEYS_LENGTH)), StandardCharsets.US_ASCII);
    String[] theirs = text.split(":");
    byte[] theirGid = HexFormat.of().parseHex(String.join("", List.of(theirs).subList(6, 22)));
    return new Remote(
        QueuePairAddress.of(number(theirs[2]), Gid.fromBytes(theirGid))
            .withPsn(number(theirs[3]))
            .withReads(number(theirs[1]))
            .withMtu(MTU),
        number(theirs[4]),
        Long.parseUnsignedLong(theirs[5], 16));
  }

  private static int number(String hex) {
    return Integer.parseUnsignedInt(hex, 16);
  }

  /** Exchanges what programs that measure bandwidth report. */
  void reports() throws IOException {
    for (int i = 0; i < REPORTS; i++) {
      exchange(new byte[Long.BYTES]);
    }
  }

  /** Waits for the end of the other program, after the last keys; 4.5 says "done" before. */
  void end() throws IOException {
    String last = new String(in.readAllBytes(), StandardCharsets.US_ASCII);
    assertTrue(last.isEmpty() || last.equals("done\0"), last);
  }

  @Override
  public void close() throws IOException {
    socket.close();
  }
}
