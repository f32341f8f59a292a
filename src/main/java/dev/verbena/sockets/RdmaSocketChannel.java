package dev.verbena.sockets;

import java.io.IOException;
import java.lang.foreign.MemorySegment;
import java.nio.ByteBuffer;
import java.nio.channels.SocketChannel;
import java.nio.channels.spi.SelectorProvider;

/**
 * A socket channel over an rsocket, an RDMA connection that librdmacm uses as a stream of bytes
 * ({@code rsocket}; {@code raccept} for the passive side).
 *
 * <p>It has the semantics of {@link SocketChannel}, and is opened by {@link
 * RdmaSelectorProvider#openSocketChannel}, or by {@link
 * java.nio.channels.ServerSocketChannel#accept} of a channel of this provider. What differs from a
 * TCP channel:
 *
 * <ul>
 *   <li>Reads and writes copy between the buffer and registered memory of the rsocket ({@code
 *       rrecv}, {@code rsend}); those of heap buffers copy once more. They allocate nothing on the
 *       heap, unless the direct buffer is another than in the previous read or write, or a blocking
 *       channel has to wait.
 *   <li>{@code close} of a blocking channel returns when the peer's device has acknowledged all
 *       data that was written ({@code rclose}), after the time of {@link
 *       java.net.StandardSocketOptions#SO_LINGER}, or after ten seconds if that is not set; of a
 *       non-blocking channel, at once. Another thread completes the close, and the end of the JVM
 *       waits for that thread, at most ten seconds. {@code shutdownOutput} waits likewise ({@code
 *       rshutdown}).
 *   <li>Threads that wait park, so that virtual threads release their carriers; one thread waits in
 *       {@code rpoll} for all of them.
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
   * @return the number of bytes written; 0 if a non-blocking channel cannot write now
   * @throws IllegalArgumentException if the buffer is not direct
   * @throws java.nio.channels.NotYetConnectedException if the channel is not connected
   * @throws IOException if no memory is mapped at the offset, or the connection failed
   */
  public abstract int writeMapped(ByteBuffer source, long offset) throws IOException;
}
