package dev.verbena.s3;

import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import software.amazon.awssdk.services.s3.model.GetObjectResponse;

/**
 * An object, or a range of one, outside the heap: what {@link S3Rdma#toSegment} returns. It is the
 * memory to which the server wrote, unless the call went by HTTP. Close it: the memory is used for
 * other objects then.
 */
public final class S3Segment implements AutoCloseable {
  private final GetObjectResponse response;
  private final Arena arena;
  private final MemorySegment segment;
  private final boolean isByRdma;

  /** Creates one, which closes the arena of the memory. */
  S3Segment(GetObjectResponse response, Arena arena, MemorySegment segment, boolean isByRdma) {
    this.response = response;
    this.arena = arena;
    this.segment = segment.asReadOnly();
    this.isByRdma = isByRdma;
  }

  /** {@return the response without the data} */
  public GetObjectResponse response() {
    return response;
  }

  /** {@return the data, which cannot be changed, until this is closed} */
  public MemorySegment segment() {
    return segment;
  }

  /** {@return whether the server wrote the data by RDMA} */
  public boolean isByRdma() {
    return isByRdma;
  }

  /** Gives the memory back. */
  @Override
  public synchronized void close() {
    if (arena.scope().isAlive()) {
      arena.close();
    }
  }
}
