package dev.verbena.sockets;

import java.io.IOException;
import java.lang.foreign.MemorySegment;
import java.nio.ByteBuffer;
import java.nio.channels.FileChannel;
import java.nio.channels.SocketChannel;
import java.nio.channels.spi.SelectorProvider;

/**
 * A socket channel over RDMA: a connection that carries a stream of bytes by the protocol of
 * rsockets.
 *
 * <p>It has the semantics of {@link SocketChannel}, and is opened by {@link
 * RdmaSelectorProvider#openSocketChannel}, or by {@link
 * java.nio.channels.ServerSocketChannel#accept} of a channel of this provider ({@code raccept}).
 * What differs from a TCP channel:
 *
 * <ul>
 *   <li>Reads and writes copy between the buffer and registered memory of the connection. They
 *       allocate nothing, but for a timer, at most one each millisecond, while data waits.
 *   <li>{@code close} and {@code shutdownOutput} ({@code rclose}, {@code rshutdown}) do not wait,
 *       except for the time of {@link java.net.StandardSocketOptions#SO_LINGER} of a blocking
 *       channel. The data that was written is delivered afterwards, and the connection then ends,
 *       after ten seconds at the latest, or three minutes if the peer did not read all before. The
 *       JVM waits for that before it exits, ten seconds at most.
 *   <li>With SO_LINGER of 0, {@code close} aborts the connection.
 * </ul>
 *
 * <p>See rsocket(7).
 */
public abstract sealed class RdmaSocketChannel extends SocketChannel permits StreamChannel {
  RdmaSocketChannel(SelectorProvider provider) {
    super(provider);
  }

  /**
   * Lets the peer write into memory of this process with {@link #writeMapped}: {@code riomap}. The
   * peer is informed with the next data that is written to this channel, and must have set {@link
   * RdmaSocketOptions#RDMA_IOMAPSIZE}.
   *
   * @param memory native memory. It stays reachable until it is unmapped or the channel closed, so
   *     that an automatic arena does not free it; another arena must not be closed before
   * @param offset the offset at which the peer addresses the memory
   * @throws IllegalArgumentException if the memory is on the heap or read-only, or the offset
   *     negative
   * @throws IllegalStateException if the arena of the memory is closed
   * @throws WrongThreadException if the arena is confined to another thread
   * @throws java.nio.channels.NotYetConnectedException if the channel is not connected
   * @throws IOException if the memory cannot be registered, or the peer maps no more memory
   */
  public abstract void map(MemorySegment memory, long offset) throws IOException;

  /**
   * Ends the access of the peer to memory: {@code riounmap}.
   *
   * @param memory the memory that was mapped
   * @throws IOException if it is not mapped
   */
  public abstract void unmap(MemorySegment memory) throws IOException;

  /**
   * Writes into memory that the peer has mapped: {@code riowrite}. The peer is not notified; data
   * that is written to the channel afterwards arrives later. A blocking channel writes all bytes.
   *
   * @param source a direct buffer
   * @param offset the offset at which the peer has mapped the memory
   * @return the number of bytes written; 0 if a non-blocking channel cannot write now: a selector
   *     then finds it writable when data that was written before does not wait any more
   * @throws IllegalArgumentException if the buffer is not direct
   * @throws java.nio.channels.NotYetConnectedException if the channel is not connected
   * @throws IOException if no memory is mapped at the offset, or the connection failed
   */
  public abstract int writeMapped(ByteBuffer source, long offset) throws IOException;

  /**
   * Writes bytes of a file, 64 KiB at a time. {@link FileChannel#transferTo} with a channel that is
   * not one of the JDK copies 8 KiB at a time, which takes several times as long. A blocking
   * channel writes up to the end of the file, a non-blocking one as much as there is room for.
   *
   * @param source the file; its position is not used
   * @param position where in the file to begin
   * @param count the maximum number of bytes
   * @return the number of bytes written
   * @throws IllegalArgumentException if the position or the count is negative
   * @throws java.nio.channels.NonReadableChannelException if the file is not open for reading
   * @throws java.nio.channels.NotYetConnectedException if the channel is not connected
   * @throws IOException if the connection failed before a byte was written, or the file cannot be
   *     read
   */
  public abstract long transferFrom(FileChannel source, long position, long count)
      throws IOException;

  /**
   * Reads bytes into a file, 64 KiB at a time, as {@link #transferFrom} writes them. A blocking
   * channel reads up to the end of the stream, a non-blocking one what is there.
   *
   * @param target the file; its position is not used
   * @param position where in the file to begin
   * @param count the maximum number of bytes
   * @return the number of bytes read, 0 at the end of the stream
   * @throws IllegalArgumentException if the position or the count is negative
   * @throws java.nio.channels.NonWritableChannelException if the file is not open for writing
   * @throws java.nio.channels.NotYetConnectedException if the channel is not connected
   * @throws IOException if the connection failed before a byte was read, or the file cannot be
   *     written: then bytes that were read are lost
   */
  public abstract long transferTo(FileChannel target, long position, long count) throws IOException;
}
