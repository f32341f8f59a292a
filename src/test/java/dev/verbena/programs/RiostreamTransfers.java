package dev.verbena.programs;

import dev.verbena.sockets.RdmaSocketChannel;
import java.io.EOFException;
import java.io.IOException;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.lang.invoke.VarHandle;
import java.nio.ByteBuffer;
import java.nio.channels.SelectionKey;

/**
 * The transfers of riostream over one connection: writes into memory that the peer has mapped. The
 * last byte of the last transfer is a marker, for which the peer waits.
 */
final class RiostreamTransfers implements StreamTransfers {
  private static final VarHandle BYTE = ValueLayout.JAVA_BYTE.varHandle();

  /** How often the marker is read before the connection is examined. */
  private static final int SPINS = 1000;

  private final RdmaSocketChannel channel;
  private final RstreamTransfers messages;
  private final boolean verify;

  /** Freed when it is mapped no more. */
  private final MemorySegment memory;

  private final ByteBuffer unexpected = ByteBuffer.allocateDirect(1);

  /** That which is mapped in a test. */
  private MemorySegment mapped;

  /** Counts the transfers of both ends that have one. */
  private byte marker;

  /** The values that the next bytes have, where data is verified. */
  private byte nextSent;

  private byte nextReceived;

  RiostreamTransfers(
      RdmaSocketChannel channel, RstreamTransfers.Waiting waiting, boolean verify, int largest)
      throws IOException {
    this.channel = channel;
    this.verify = verify;
    memory = Arena.ofAuto().allocate(largest);
    messages = new RstreamTransfers(channel, waiting, false, 0);
  }

  @Override
  public void begin(int size) throws IOException {
    mapped = memory.asSlice(0, size);
    marker = 0;
    mapped.set(ValueLayout.JAVA_BYTE, size - 1, (byte) -1);
    channel.map(mapped, 0);
  }

  @Override
  public void synchronize(boolean isClient) throws IOException {
    messages.synchronize(isClient);
  }

  @Override
  public void send(int size, int count) throws IOException {
    for (int i = 1; i < count; i++) {
      send();
    }
    for (int i = 0; verify && i < size - 1; i++) {
      mapped.set(ValueLayout.JAVA_BYTE, i, nextSent++);
    }
    mapped.set(ValueLayout.JAVA_BYTE, size - 1, marker++);
    send();
  }

  private void send() throws IOException {
    ByteBuffer source = mapped.asByteBuffer();
    while (source.hasRemaining()) {
      messages.awaitReady(SelectionKey.OP_WRITE);
      int _ = channel.writeMapped(source, source.position());
    }
  }

  @Override
  public void receive(int size, int count) throws IOException {
    awaitMarker(marker++);
    for (int i = 0; verify && i < size - 1; i++) {
      if (mapped.get(ValueLayout.JAVA_BYTE, i) != nextReceived++) {
        throw new IOException("data verification failed byte " + i);
      }
    }
  }

  private void awaitMarker(byte expected) throws IOException {
    for (int spins = 1; !isMarked(expected); spins++) {
      Thread.onSpinWait();
      if (spins % SPINS == 0) {
        boolean isConnected = isConnected();
        if (!isConnected && !isMarked(expected)) {
          throw new EOFException("the peer closed the connection");
        }
      }
    }
  }

  private boolean isMarked(byte expected) {
    return (byte) BYTE.getVolatile(mapped, mapped.byteSize() - 1) == expected;
  }

  /** Returns whether the stream, on which nothing comes meanwhile, has not ended. */
  private boolean isConnected() throws IOException {
    boolean isBlocking = channel.isBlocking();
    channel.configureBlocking(false);
    try {
      return channel.read(unexpected.clear()) == 0;
    } finally {
      channel.configureBlocking(isBlocking);
    }
  }

  @Override
  public void end() throws IOException {
    channel.unmap(mapped);
  }

  @Override
  public void close() throws IOException {
    messages.close();
  }
}
