package dev.verbena.aeron;

import static org.junit.jupiter.api.Assertions.assertEquals;

import com.sun.management.ThreadMXBean;
import java.io.IOException;
import java.lang.management.ManagementFactory;
import java.net.InetSocketAddress;
import java.nio.ByteBuffer;
import org.junit.jupiter.api.Test;

/**
 * What sockets allocate for frames: nothing. Below Aeron, whose pollers have iterators that only C2
 * removes.
 */
class AllocationTest {
  private static final int DESTINATIONS = 3;
  private static final int EXCHANGES = 500;

  private final Sockets sockets = new Sockets();
  private final ByteBuffer frame = ByteBuffer.allocateDirect(2000);
  private final ByteBuffer received = ByteBuffer.allocateDirect(2000);

  @Test
  void framesOfEachSizeInBothDirections() throws IOException {
    try (Hosts _ = new Hosts();
        RdmaChannel first = sockets.open(Hosts.A)) {
      RdmaChannel[] others = new RdmaChannel[DESTINATIONS];
      InetSocketAddress[] addresses = new InetSocketAddress[DESTINATIONS];
      for (int i = 0; i < DESTINATIONS; i++) {
        others[i] = sockets.open(Hosts.B);
        addresses[i] = (InetSocketAddress) others[i].getLocalAddress();
      }
      InetSocketAddress back = (InetSocketAddress) first.getLocalAddress();
      long paths = 2 * DESTINATIONS;
      while (sockets.counters.paths.get() < paths) {
        exchange(first, back, others, addresses, 64);
      }
      long udp = sockets.counters.sentByUdp.get();
      for (int length : new int[] {8, 100, 1400}) {
        assertEquals(0, leastAllocation(first, back, others, addresses, length));
      }
      assertEquals(udp, sockets.counters.sentByUdp.get());
      for (RdmaChannel other : others) {
        other.close();
      }
    }
  }

  /** Returns the bytes of the best of some rounds: others have a renewal of the paths in them. */
  private long leastAllocation(
      RdmaChannel first,
      InetSocketAddress back,
      RdmaChannel[] others,
      InetSocketAddress[] addresses,
      int length)
      throws IOException {
    ThreadMXBean threads = (ThreadMXBean) ManagementFactory.getThreadMXBean();
    long least = Long.MAX_VALUE;
    for (int round = 0; round < 50 && least > 0; round++) {
      long before = threads.getCurrentThreadAllocatedBytes();
      for (int i = 0; i < EXCHANGES; i++) {
        exchange(first, back, others, addresses, length);
      }
      least = Math.min(least, threads.getCurrentThreadAllocatedBytes() - before);
    }
    return least;
  }

  /** Sends a frame to each destination, which sends it back. */
  private void exchange(
      RdmaChannel first,
      InetSocketAddress back,
      RdmaChannel[] others,
      InetSocketAddress[] addresses,
      int length)
      throws IOException {
    for (int i = 0; i < others.length; i++) {
      pass(first, addresses[i], others[i], length);
      pass(others[i], back, first, length);
    }
  }

  private void pass(RdmaChannel from, InetSocketAddress address, RdmaChannel to, int length)
      throws IOException {
    sockets.clock.update(System.nanoTime());
    frame.clear().limit(length);
    assertEquals(length, from.send(frame, address));
    do {
      sockets.clock.update(System.nanoTime());
      received.clear();
    } while (to.receive(received) == null);
    assertEquals(length, received.position());
  }
}
