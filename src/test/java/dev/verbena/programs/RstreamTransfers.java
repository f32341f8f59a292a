package dev.verbena.programs;

import java.io.EOFException;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.channels.SelectionKey;
import java.nio.channels.Selector;
import java.nio.channels.SocketChannel;

/** The transfers of rstream over one connection. */
final class RstreamTransfers implements StreamTransfers {
  private static final int SYNCHRONIZATION = 16;

  /** What a channel does that is not ready. */
  enum Waiting {
    SPIN,
    SELECT,
    BLOCK
  }

  private final SocketChannel channel;
  private final Waiting waiting;
  private final boolean verify;
  private final ByteBuffer buffer;
  private final Selector selector;
  private final SelectionKey key;

  /** The values that the next bytes have, where data is verified. */
  private byte nextSent;

  private byte nextReceived;

  RstreamTransfers(SocketChannel channel, Waiting waiting, boolean verify, int largest)
      throws IOException {
    this.channel = channel;
    this.waiting = waiting;
    this.verify = verify;
    buffer = ByteBuffer.allocateDirect(Math.max(SYNCHRONIZATION, largest));
    channel.configureBlocking(waiting == Waiting.BLOCK);
    selector = waiting == Waiting.SELECT ? channel.provider().openSelector() : null;
    key = selector == null ? null : channel.register(selector, 0);
  }

  @Override
  public void synchronize(boolean isClient) throws IOException {
    if (isClient) {
      send(SYNCHRONIZATION);
      receive(SYNCHRONIZATION);
    } else {
      receive(SYNCHRONIZATION);
      send(SYNCHRONIZATION);
    }
  }

  @Override
  public void send(int size, int count) throws IOException {
    for (int i = 0; i < count; i++) {
      send(size);
    }
  }

  @Override
  public void receive(int size, int count) throws IOException {
    for (int i = 0; i < count; i++) {
      receive(size);
    }
  }

  private void send(int size) throws IOException {
    buffer.clear().limit(size);
    if (verify) {
      for (int i = 0; i < size; i++) {
        buffer.put(i, nextSent++);
      }
    }
    while (buffer.hasRemaining()) {
      awaitReady(SelectionKey.OP_WRITE);
      channel.write(buffer);
    }
  }

  private void receive(int size) throws IOException {
    buffer.clear().limit(size);
    while (buffer.hasRemaining()) {
      awaitReady(SelectionKey.OP_READ);
      if (channel.read(buffer) < 0) {
        throw new EOFException("the peer closed the connection");
      }
    }
    for (int i = 0; verify && i < size; i++) {
      if (buffer.get(i) != nextReceived++) {
        throw new IOException("data verification failed byte " + i);
      }
    }
  }

  /** Waits until the channel is ready, if it waits by a selector. */
  void awaitReady(int operation) throws IOException {
    if (waiting == Waiting.SELECT) {
      key.interestOps(operation);
      selector.select();
      selector.selectedKeys().clear();
    }
  }

  @Override
  public void close() throws IOException {
    if (selector != null) {
      selector.close();
    }
  }
}
