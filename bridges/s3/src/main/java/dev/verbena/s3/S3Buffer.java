package dev.verbena.s3;

import dev.verbena.verbs.MemoryRegion;
import java.io.InputStream;
import java.lang.System.Logger.Level;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import software.amazon.awssdk.awscore.AwsRequestOverrideConfiguration;
import software.amazon.awssdk.core.interceptor.ExecutionAttribute;
import software.amazon.awssdk.core.sync.RequestBody;
import software.amazon.awssdk.http.ContentStreamProvider;
import software.amazon.awssdk.services.s3.model.PutObjectRequest;
import software.amazon.awssdk.services.s3.model.UploadPartRequest;

/**
 * Memory whose content is stored without a copy: {@link S3Rdma#allocate}.
 *
 * {@snippet :
 * try (S3Buffer buffer = S3Rdma.allocate(8 << 20)) {
 *   fill(buffer.segment());
 *   client.putObject(buffer.in(request), buffer.body());
 * }
 * }
 *
 * <p>The content must not change during a call. Calls may follow one another; of calls at the same
 * time one goes without a copy. The first call registers the memory, and so does the first one
 * after a call that failed, since its server may still access what was registered, and the first
 * one to another endpoint or by another device.
 */
public final class S3Buffer implements AutoCloseable {
  static final ExecutionAttribute<S3Buffer> ATTRIBUTE =
      new ExecutionAttribute<>("dev.verbena.s3.S3Buffer");

  private static final int ALIGNMENT = 4096;

  private final Arena arena = Arena.ofShared();
  private final MemorySegment segment;
  private volatile Thread opener;
  private Rail rail;
  private MemoryRegion region;
  private boolean isLent;
  private boolean isReachable;

  S3Buffer(long size) {
    segment = arena.allocate(size, ALIGNMENT);
  }

  /**
   * Returns the memory.
   *
   * @return the memory, until the buffer is closed
   */
  public MemorySegment segment() {
    return segment;
  }

  /**
   * Returns a request whose body is the buffer: {@link #body} itself, not a body that is made of
   * it.
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
   * Returns a request whose body is the buffer: {@link #body} itself, not a body that is made of
   * it.
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
        this::open, segment.byteSize(), "application/octet-stream");
  }

  private InputStream open() {
    opener = Thread.currentThread();
    return new DataStream(segment.byteSize()) {
      @Override
      void copy(long offset, MemorySegment target) {
        MemorySegment.copy(segment, offset, target, 0, target.byteSize());
      }
    };
  }

  /** Returns whether a body is that of the buffer, in the wrappers of the SDK. */
  @SuppressWarnings("unused") // The stream need not be closed if it is ours.
  boolean isIn(ContentStreamProvider body) {
    opener = null;
    InputStream _ = body.newStream();
    return opener == Thread.currentThread();
  }

  /** {@return the device that has the memory registered; null if none has} */
  synchronized Rail rail() {
    return rail;
  }

  /**
   * Begins an attempt with the memory; null if another one uses it, or if it is closed or cannot be
   * registered.
   *
   * @param user the device that the attempt uses
   * @param place of the attempt
   * @throws RuntimeException if there is no connection
   */
  synchronized Lease lend(Rail user, long length, Window.Place place) {
    if (isLent || isReachable || length != segment.byteSize() || !arena.scope().isAlive()) {
      return null;
    }
    if (rail != user) {
      try {
        deregister();
        region = user.buffers().register(segment);
      } catch (RuntimeException e) { // The content is copied.
        Log.once(Level.WARNING, "register", this + " is not registered: " + e.getMessage());
        return null;
      }
      rail = user;
    }
    Lease lease = rail.lend(region, length, place, this::giveBack);
    lease.fill();
    isLent = true;
    return lease;
  }

  private synchronized void giveBack(boolean isFree) {
    isLent = false;
    try {
      if (!isFree) {
        deregister();
      }
    } catch (RuntimeException e) { // The server may read it.
      isReachable = true;
      Log.LOGGER.log(Level.WARNING, this + " stays registered until it is closed", e);
    }
  }

  private void deregister() {
    if (region != null) {
      region.close();
      region = null;
      rail = null;
    }
  }

  /**
   * Deregisters and frees the memory. Closing it again has no effect.
   *
   * @throws IllegalStateException if a call uses it, or the program does, by a channel for example;
   *     it can be closed again afterwards
   */
  @Override
  public synchronized void close() {
    if (isLent) {
      throw new IllegalStateException("a call uses " + this);
    }
    deregister();
    if (arena.scope().isAlive()) {
      arena.close();
    }
  }

  @Override
  public String toString() {
    return "a buffer of " + segment.byteSize() + " bytes";
  }
}
