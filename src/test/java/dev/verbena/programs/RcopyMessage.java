package dev.verbena.programs;

import java.io.EOFException;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.channels.SocketChannel;
import java.util.Optional;

/**
 * A message of rcopy: {@code struct msg_hdr} and what follows it, in the byte order of the host.
 *
 * @param command what is requested, or that with {@link #RESPONSE} for the answer
 * @param data the mode of the file, or the errno of an answer
 * @param more what follows
 */
record RcopyMessage(int command, int data, ByteBuffer more) {
  static final int OPEN = 1;
  static final int CLOSE = 2;
  static final int WRITE = 3;
  static final int RESPONSE = 0x80;

  private static final int HEADER = 16;

  static RcopyMessage of(int command, int data) {
    return new RcopyMessage(command, data, ByteBuffer.allocate(0));
  }

  static ByteBuffer allocate(int size) {
    return ByteBuffer.allocateDirect(size).order(ByteOrder.nativeOrder());
  }

  void send(SocketChannel channel) throws IOException {
    int length = HEADER + more.remaining();
    ByteBuffer bytes = allocate(length);
    bytes.put((byte) 0).put((byte) command).putShort((short) length).putInt(data).putLong(0);
    channel.write(bytes.put(more).flip());
  }

  /** Receives a message; returns an empty result at the end of the connection. */
  static Optional<RcopyMessage> receive(SocketChannel channel) throws IOException {
    ByteBuffer header = allocate(HEADER);
    if (channel.read(header) < 0) {
      return Optional.empty();
    }
    fill(channel, header);
    int version = header.get(0);
    int length = Short.toUnsignedInt(header.getShort(2));
    if (version != 0 || length < HEADER) {
      throw new IOException("invalid version " + version + " or length " + length);
    }
    ByteBuffer more = allocate(length - HEADER);
    fill(channel, more);
    return Optional.of(
        new RcopyMessage(Byte.toUnsignedInt(header.get(1)), header.getInt(4), more.flip()));
  }

  static void fill(SocketChannel channel, ByteBuffer target) throws IOException {
    while (target.hasRemaining()) {
      if (channel.read(target) < 0) {
        throw new EOFException("the peer closed the connection");
      }
    }
  }
}
