package dev.verbena.s3;

import dev.verbena.verbs.MemoryRegion;
import java.lang.System.Logger.Level;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.util.Objects;
import software.amazon.awssdk.awscore.AwsRequestOverrideConfiguration;
import software.amazon.awssdk.core.interceptor.ExecutionAttribute;
import software.amazon.awssdk.core.sync.RequestBody;
import software.amazon.awssdk.services.s3.model.PutObjectRequest;
import software.amazon.awssdk.services.s3.model.UploadPartRequest;

/**
 * Registered memory whose content is stored without a copy: {@link S3Rdma#allocate}.
 *
 * {@snippet :
 * try (S3Buffer buffer = S3Rdma.allocate("storage:9000", 8 << 20)) {
 *   fill(buffer.segment());
 *   client.putObject(buffer.in(request), buffer.body());
 * }
 * }
 *
 * <p>The content must not change during a call. Calls may follow one another; of calls at the same
 * time one goes without a copy. After a call that failed the server may still read the memory, so
 * it is withdrawn: {@link #segment} throws an exception, and another buffer is to be allocated.
 */
public final class S3Buffer implements AutoCloseable {
  static final ExecutionAttribute<S3Buffer> ATTRIBUTE =
      new ExecutionAttribute<>("dev.verbena.s3.S3Buffer");

  private final Endpoint endpoint;
  private final Rail rail;
  private final MemoryRegion region;
  private final long size;
  private final Arena arena = Arena.ofShared();
  private final MemorySegment segment;
  private boolean isLent;
  private boolean isWithdrawn;
  private boolean isClosed;
  private boolean isGivenBack;

  S3Buffer(Endpoint endpoint, Rail rail, MemoryRegion region, long size) {
    this.endpoint = endpoint;
    this.rail = rail;
    this.region = region;
    this.size = size;
    this.segment = MemorySegment.ofAddress(region.start()).reinterpret(size, arena, null);
  }

  /**
   * Returns the memory.
   *
   * @return the memory, until the buffer is closed
   * @throws IllegalStateException if it is closed, or a call that failed has withdrawn it
   */
  public synchronized MemorySegment segment() {
    if (isWithdrawn || isClosed) {
      throw new IllegalStateException(
          isClosed ? "the buffer is closed" : "a call that failed has withdrawn the buffer");
    }
    return segment;
  }

  /**
   * Returns a request whose body is the buffer: {@link #body}.
   *
   * @param request a request
   * @return the request with a reference to the buffer
   */
  public PutObjectRequest in(PutObjectRequest request) {
    return request.toBuilder()
        .overrideConfiguration(with(request.overrideConfiguration().orElse(null)))
        .build();
  }

  /**
   * Returns a request whose body is the buffer: {@link #body}.
   *
   * @param request a request
   * @return the request with a reference to the buffer
   */
  public UploadPartRequest in(UploadPartRequest request) {
    return request.toBuilder()
        .overrideConfiguration(with(request.overrideConfiguration().orElse(null)))
        .build();
  }

  private AwsRequestOverrideConfiguration with(AwsRequestOverrideConfiguration other) {
    AwsRequestOverrideConfiguration.Builder builder =
        other == null ? AwsRequestOverrideConfiguration.builder() : other.toBuilder();
    return builder.putExecutionAttribute(ATTRIBUTE, this).build();
  }

  /**
   * Returns the content as the body of a request, which is sent if the call goes by HTTP.
   *
   * @return the body
   */
  public RequestBody body() {
    return RequestBody.fromContentProvider(
        () -> new DataStream(new Held(this, segment())), size, "application/octet-stream");
  }

  private record Held(S3Buffer buffer, MemorySegment segment) implements Data {
    @Override
    public long length() {
      return segment.byteSize();
    }

    @Override
    public void copy(long offset, MemorySegment target) {
      MemorySegment.copy(segment, offset, target, 0, target.byteSize());
    }

    @Override
    public void close() {
      // The program closes the buffer.
    }
  }

  /**
   * Begins a call with the memory; null if it is for another endpoint, or if another call uses it.
   *
   * @param place of the call
   */
  synchronized Lease lend(Endpoint user, long length, Window.Place place) {
    if (user != endpoint || length != size || isLent || isWithdrawn || isClosed) {
      return null;
    }
    Lease lease = rail.lend(region, size, place, this::giveBack);
    lease.fill();
    isLent = true;
    return lease;
  }

  private synchronized void giveBack(boolean isFree) {
    isLent = false;
    isWithdrawn = !isFree;
    if (isClosed || isWithdrawn) {
      try {
        end();
      } catch (IllegalStateException e) { // The call that gave it back may go on.
        Log.LOGGER.log(Level.WARNING, this + " stay in use until they are closed again", e);
      }
    }
  }

  private void end() {
    if (!isGivenBack) {
      arena.close();
      isGivenBack = true;
      rail.giveBack(region, !isWithdrawn);
    }
  }

  /**
   * Gives the memory back, after the call that uses it.
   *
   * @throws IllegalStateException if the program reads or writes the memory, by a channel for
   *     example; it can be closed again afterwards
   */
  @Override
  public synchronized void close() {
    isClosed = true;
    if (!isLent) {
      end();
    }
  }

  @Override
  public String toString() {
    return size + " bytes for " + Objects.toString(endpoint);
  }
}
