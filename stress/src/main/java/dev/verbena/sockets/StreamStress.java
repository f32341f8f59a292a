package dev.verbena.sockets;

import static org.openjdk.jcstress.annotations.Expect.ACCEPTABLE;
import static org.openjdk.jcstress.annotations.Expect.FORBIDDEN;

import dev.verbena.testing.Await;
import java.nio.ByteBuffer;
import org.openjdk.jcstress.annotations.Actor;
import org.openjdk.jcstress.annotations.JCStressTest;
import org.openjdk.jcstress.annotations.Outcome;
import org.openjdk.jcstress.annotations.State;
import org.openjdk.jcstress.infra.results.I_Result;

/** What the threads of a stream share, locked where {@link RdmaStream} locks it. */
final class StreamStress {
  private StreamStress() {}

  /** A thread copies from the ring without the lock, while the peer writes to what is granted. */
  @JCStressTest
  @State
  @Outcome(id = "0", expect = ACCEPTABLE, desc = "All bytes were read in order.")
  @Outcome(expect = FORBIDDEN, desc = "The peer overwrote bytes that were not read.")
  public static class InputRingBesidePeer {
    private static final int SIZE = 16;
    private static final int HALVES = 6;

    private final ByteBuffer memory = ByteBuffer.allocate(SIZE);
    private final InputRing ring = new InputRing(memory, SIZE);

    @Actor
    public void peer() {
      for (int half = 0; half < HALVES; half++) {
        int offset = half < 2 ? half * ring.half() : awaitGrant(); // Both when connecting.
        for (int i = 0; i < ring.half(); i++) {
          memory.put(offset + i, (byte) (half * ring.half() + i));
        }
        synchronized (ring) {
          ring.receive(ring.half());
        }
      }
    }

    private int awaitGrant() {
      for (int tries = 0; ; tries++) {
        synchronized (ring) {
          if (ring.isHalfFree()) {
            return ring.grantHalf();
          }
        }
        Await.spin(tries);
      }
    }

    @Actor
    public void read(I_Result result) {
      ByteBuffer buffer = ByteBuffer.allocate(SIZE * HALVES);
      for (int tries = 0; buffer.position() < HALVES * ring.half(); tries++) {
        Await.spin(tries);
        int count;
        synchronized (ring) {
          count = ring.available();
          ring.beginReading(count);
        }
        ring.copyTo(buffer, count);
        synchronized (ring) {
          ring.endReading(count);
        }
      }
      for (int i = 0; i < buffer.position(); i++) {
        result.r1 += buffer.get(i) == (byte) i ? 0 : 1;
      }
    }
  }
}
